//! `shardc run`

mod arguments;
mod fed;
mod files;
mod interpreted;
mod misfit;
mod names;
mod report;
mod save;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::exec::{Program, attribute_disagreement, not_finite, run_need};
use shardc::runtime::{Client, HostArray, Processes, ShardedArray};
use shardc::{Interface, InterfaceTensor};
use shardc_passes::annotations::names::Names;

use self::report::{DeviceMemory, Row, Step};
use super::client::{client, kind, limits, runtime_error};
use super::{engine, launch};
use crate::args::RunArgs;
use crate::job;
use crate::output::Outputs;
use crate::processes::{self, Place};
use crate::target::Chosen;
use crate::ui::Ui;

pub(crate) fn run(args: &RunArgs, ui: &Ui) -> Result<ExitCode> {
    let is_interpreted = engine::is_interpreter(&args.device, ui)?;
    let job = match processes::place(args.processes)? {
        Place::Launcher(_) | Place::Member(_) if is_interpreted => return Err(interpreted::one_process()),
        Place::Alone => None,
        Place::Launcher(count) => return launch::again(count, ui),
        Place::Member(options) => Some(*options),
    };
    // In a job, only process 0 prints results and warnings.
    let is_first = job.as_ref().is_none_or(|job| job.index == 0);
    let ui = &ui.quiet_unless(is_first);
    let saved = args.outputs.as_deref().map(|path| ("--outputs", path));
    let given = args.inputs.as_deref().map(|path| ("--inputs", path));
    let inputs: Vec<_> = given.into_iter().chain([args.input.named()]).collect();
    let mut files = Outputs::plan(&args.how.outputs(&[saved.filter(|_| is_first)]), &inputs)?;
    let target = args.state.save.as_deref().map(|place| save::target(place, &args.state)).transpose()?;
    let plugin = kind(&args.device);
    let how = args.how.for_plugin(plugin, Chosen::of_plugin(plugin));
    let mut job_of_program = job::partition(&args.input, &how, ui)?;
    let sources = arguments::open(&args.state)?;
    if is_interpreted {
        return interpreted::run(args, job_of_program, &sources, target.as_ref(), files, ui);
    }

    let processes = job.map(Processes::connect).transpose().map_err(runtime_error)?;
    let interface = &job_of_program.output.interface;
    let client = client(&args.device, &interface.mesh, processes.as_ref())?;
    let limits = limits(&args.device);
    // The memory is checked before the inputs are created and the program is compiled. The check is skipped if arguments are loaded,
    // because they are read in blocks and need less host memory.
    if sources.is_empty() && client.platform_name() == "cpu" {
        run_need(interface).check("running the program", limits.memory).map_err(runtime_error)?;
    }
    let names = Names::of_interface(interface);
    let fed = fed::pairs(&args.state, interface, &names)?;
    let progress = &mut job_of_program.progress;
    progress.stage("compile");
    let source = &job_of_program.source;
    let program = Program::partitioned(&client, &job_of_program.output).map_err(|e| source.explain(&e))?;
    let program = program.with_limits(limits);
    program.check_memory().map_err(|e| source.explain(&e))?;
    progress.stage("load");
    let loaded = arguments::arguments(args, &sources, interface, &client, &program)
        .map_err(|error| error.explained(source))?;
    progress.stage("run");
    let names = checked_names(interface);
    let checked = args.state.check_finite.then_some(names.as_slice());
    let runner = Runner { client: &client, program: &program, fed: &fed, checked };
    let shown = report::shown(interface);
    // If the program's own manual computations cause an error, the error names them.
    let attributed = |error| match job::original(source, &args.input.annotations) {
        Ok(original) => source.explain(&attribute_disagreement(&original, error)),
        Err(_) => source.explain(&error),
    };
    let (steps, outputs) =
        runner.run(loaded.arrays, args.state.steps.unwrap_or(1), &shown).map_err(attributed)?;
    let mut rows = Vec::new();
    let mut whole = Vec::new();
    for (i, (array, tensor)) in outputs.iter().zip(&interface.outputs).enumerate() {
        let array = gathered(i, array, processes.as_ref()).map_err(attributed)?;
        rows.push(Row::new(&array, tensor.global.to_string(), tensor.name.clone()));
        whole.extend(args.outputs.is_some().then_some(array));
    }
    if let Some(target) = &target {
        progress.stage("save");
        let info = save::info(loaded.step, steps.len(), loaded.tree.as_ref(), interface);
        save::save(target, interface, &outputs, &info, processes.as_ref(), ui)?;
    }
    job_of_program.finish(&mut files, &args.how, ui)?;
    if let Some(path) = args.outputs.as_ref().filter(|_| is_first) {
        files.put(path, files::serialized(&whole)?)?;
    }
    files.commit()?;
    if is_first {
        let steps = args.state.steps.map(|_| steps.as_slice());
        let memory = DeviceMemory::of(&client);
        let memory = memory.as_ref();
        ui.result(|| report::text(steps, &rows, memory, ui), || document("pjrt", steps, &rows, memory))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The names of the results in errors about NaN and infinity.
fn checked_names(interface: &Interface) -> Vec<String> {
    let name = |(i, tensor): (usize, &InterfaceTensor)| tensor.name.clone().unwrap_or(format!("res{i}"));
    interface.outputs.iter().enumerate().map(name).collect()
}

fn document(engine: &str, steps: Option<&[Step]>, rows: &[Row], memory: Option<&DeviceMemory>) -> Value {
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    let mut document = json!({ "version": 1, "engine": engine, "outputs": rows });
    if let Some(steps) = steps {
        document["steps"] = steps.iter().map(Step::json).collect();
    }
    if let Some(memory) = memory {
        document["device_memory"] = memory.json();
    }
    document
}

/// A program that runs once or several times.
struct Runner<'a> {
    client: &'a Client,
    program: &'a Program,
    /// Pairs of a result and the argument of the next step that it becomes.
    fed: &'a [(usize, usize)],
    /// The names of the results, if they are checked for NaN and infinity.
    checked: Option<&'a [String]>,
}

impl Runner<'_> {
    /// Runs `count` steps. Returns the time and the scalar results of each step, and the results of the last step.
    fn run(
        &self,
        arguments: Vec<ShardedArray>,
        count: u64,
        shown: &[(usize, String)],
    ) -> Result<(Vec<Step>, Vec<ShardedArray>), shardc::Error> {
        let ports = self.program.inputs();
        let mut arguments: Vec<Option<ShardedArray>> = arguments.into_iter().map(Some).collect();
        let mut steps = Vec::new();
        loop {
            let began = Instant::now();
            let taken = |i: usize| ports[i].is_donated || self.fed.iter().any(|&(_, argument)| argument == i);
            let inputs = arguments.iter_mut().enumerate();
            let inputs = inputs.filter_map(|(i, array)| if taken(i) { array.take() } else { array.clone() });
            let outputs = self.program.step_donating(inputs.collect())?;
            let number = steps.len() as u64 + 1;
            for (i, name) in self.checked.unwrap_or_default().iter().enumerate() {
                let array = gathered(i, &outputs[i], self.client.processes())?;
                if let Some(error) = not_finite(number, "result", name, &array) {
                    return Err(error.into());
                }
            }
            let mut scalars = Vec::new();
            for (i, name) in shown {
                let value = gathered(*i, &outputs[*i], self.client.processes())?;
                scalars.push((name.clone(), value.to_f64_vec().first().copied().unwrap_or(f64::NAN)));
            }
            steps.push(Step { time: began.elapsed(), scalars });
            if steps.len() as u64 >= count {
                return Ok((steps, outputs));
            }
            for &(result, argument) in self.fed {
                let (array, layout) = (&outputs[result], &ports[argument].layout);
                let placement = self.program.executable().placement();
                arguments[argument] = Some(match array.layout() == layout {
                    true => array.clone(),
                    false => array.reshard(self.client, placement, layout.clone())?,
                });
            }
        }
    }
}

/// Gathers an output on the host. Replicas on different devices must agree, up to rounding.
fn gathered(
    index: usize,
    array: &ShardedArray,
    processes: Option<&Processes>,
) -> Result<HostArray, shardc::Error> {
    if let Some(found) = array.check_replicas()?.filter(|found| !found.is_rounding) {
        return Err(shardc::exec::disagreement(index, &found));
    }
    Ok(match processes {
        Some(processes) => array.to_host_across(processes)?,
        None => array.to_host()?,
    })
}
