//! `shardc run` in the interpreter: arguments and results are on the host.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use shardc::exec::{Interpreted, attribute_disagreement, not_finite, run_need};
use shardc::runtime::HostArray;
use shardc::{Error, Interface};
use shardc_passes::annotations::names::Names;

use super::arguments::{Source, arguments_on_host};
use super::report::{Row, Step};
use super::{checked_names, document, fed, files, report, save};
use crate::args::RunArgs;
use crate::commands::client::{check_devices, limits, runtime_error};
use crate::failure::Failure;
use crate::job::{self, Job};
use crate::output::Outputs;
use crate::ui::Ui;

/// The error for a job of several processes.
pub(super) fn one_process() -> anyhow::Error {
    let message = "the interpreter runs all devices in one process".to_owned();
    let hint = "leave out --processes, or use a plugin: --engine pjrt".to_owned();
    Failure::Usage { message, hint: Some(hint) }.into()
}

pub(super) fn run(
    args: &RunArgs,
    mut job: Job,
    sources: &[Source],
    target: Option<&save::Target>,
    mut files: Outputs,
    ui: &Ui,
) -> Result<ExitCode> {
    let interface = &job.output.interface;
    check_devices(&args.device, &interface.mesh)?;
    let limits = limits(&args.device);
    run_need(interface).check("running the program", limits.memory).map_err(runtime_error)?;
    let fed = fed::pairs(&args.state, interface, &Names::of_interface(interface))?;
    let source = &job.source;
    let program = Interpreted::partitioned(&job.output, limits).map_err(|e| source.explain(&e))?;
    job.progress.stage("load");
    let parameters: Vec<_> = program.inputs().map(|(name, ty)| (name.map(str::to_owned), ty)).collect();
    let loaded =
        arguments_on_host(args, sources, interface, &parameters).map_err(|error| error.explained(source))?;
    job.progress.stage("run");
    let count = args.state.steps.unwrap_or(1);
    // If the program's own manual computations cause an error, the error names them.
    let attributed = |error| match job::original(source, &args.input.annotations) {
        Ok(original) => source.explain(&attribute_disagreement(&original, error)),
        Err(_) => source.explain(&error),
    };
    let runner = Runner { program: &program, fed: &fed, checked: args.state.check_finite };
    let (steps, outputs) = runner.run(loaded.arrays, count, interface).map_err(attributed)?;
    let named = outputs.iter().zip(&interface.outputs);
    let rows: Vec<Row> =
        named.map(|(array, to)| Row::new(array, to.global.to_string(), to.name.clone())).collect();
    if let Some(path) = &args.outputs {
        files.put(path, files::serialized(&outputs)?)?;
    }
    if let Some(target) = target {
        job.progress.stage("save");
        let info = save::info(loaded.step, steps.len(), loaded.tree.as_ref(), interface);
        save::save_from_host(target, interface, outputs, &info, ui)?;
    }
    job.finish(&mut files, &args.how, ui)?;
    files.commit()?;
    let steps = args.state.steps.map(|_| steps.as_slice());
    ui.result(|| report::text(steps, &rows, None, ui), || document("interpreter", steps, &rows, None))?;
    Ok(ExitCode::SUCCESS)
}

/// A program that runs once or several times.
struct Runner<'a> {
    program: &'a Interpreted,
    /// Pairs of a result and the argument of the next step that it becomes.
    fed: &'a [(usize, usize)],
    /// Whether results are checked for NaN and infinity.
    checked: bool,
}

impl Runner<'_> {
    /// Runs `count` steps. Returns the time and the scalar results of each step, and the results of the last step.
    fn run(
        &self,
        mut arguments: Vec<HostArray>,
        count: u64,
        interface: &Interface,
    ) -> Result<(Vec<Step>, Vec<HostArray>), Error> {
        let (names, shown) = (checked_names(interface), report::shown(interface));
        let mut steps = Vec::new();
        loop {
            let began = Instant::now();
            let outputs = self.program.run(&arguments)?;
            let number = steps.len() as u64 + 1;
            for (name, array) in names.iter().zip(&outputs).filter(|_| self.checked) {
                if let Some(error) = not_finite(number, "result", name, array) {
                    return Err(error.into());
                }
            }
            let scalar = |(i, name): &(usize, String)| {
                (name.clone(), outputs[*i].to_f64_vec().first().copied().unwrap_or(f64::NAN))
            };
            steps.push(Step { time: began.elapsed(), scalars: shown.iter().map(scalar).collect() });
            if number >= count {
                return Ok((steps, outputs));
            }
            for &(result, argument) in self.fed {
                arguments[argument] = outputs[result].clone();
            }
        }
    }
}
