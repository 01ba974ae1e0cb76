//! A training step, compiled for devices.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use shardc::exec::{Port, Program, not_finite};
use shardc::{Compiler, Error, Interface, InterfaceTensor, Selection, select};
use shardc_ir::{Class, DType, Diagnostic, PackedOption, TensorSharding};
use shardc_nn::{StepProgram, Variable};
use shardc_runtime::{ArrayType, Client, ExecuteOptions, HostArray, LOUD_PADDING, Processes, ShardedArray};

use crate::metrics::Run;
use crate::state::{to_host, unknown};
use crate::{Metrics, State};

/// A training step that is compiled for its devices.
#[derive(Debug)]
pub struct Step {
    client: Client,
    step: StepProgram,
    program: Program,
    /// The program that computes initial values, compiled by the first call of [`Step::init`].
    initializer: OnceLock<Program>,
    /// The partitioned program; `None` on one device.
    partitioned: Option<(Compiler, Interface)>,
    in_flight: usize,
    /// The warnings of partitioning, and SH0727 if nothing is sharded.
    warnings: Vec<Diagnostic>,
    /// The byte threshold of cost warnings.
    warn_bytes: u64,
    /// Whether results are checked for NaN and infinity after each execution.
    checks_finite: bool,
    /// The number of executions started.
    runs: AtomicU64,
}

/// An input of an execution: a full array on the host, or an array on the devices with the step's sharding.
#[derive(Clone, Copy, Debug)]
pub enum Feed<'a> {
    /// A full array on the host.
    Host(&'a HostArray),
    /// An array on the devices, with the step's sharding.
    Devices(&'a ShardedArray),
}

impl<'a> From<&'a HostArray> for Feed<'a> {
    fn from(array: &'a HostArray) -> Self {
        Feed::Host(array)
    }
}

impl<'a> From<&'a ShardedArray> for Feed<'a> {
    fn from(array: &'a ShardedArray) -> Self {
        Feed::Devices(array)
    }
}

impl Step {
    /// Partitions a step over its mesh, and compiles it.
    ///
    /// # Errors
    /// The program cannot be partitioned, the back end rejects it, or the client has too few devices.
    pub fn compile(client: &Client, compiler: &Compiler, step: StepProgram) -> Result<Step, Error> {
        let output = compiler.partition_module(step.module.clone())?;
        let program = Program::partitioned(client, &output)?;
        let warnings = replicated(&output.interface).into_iter().chain(output.warnings).collect();
        Ok(Step {
            client: client.clone(),
            step,
            program,
            initializer: OnceLock::new(),
            partitioned: Some((compiler.clone(), output.interface)),
            in_flight: ExecuteOptions::IN_FLIGHT,
            warnings,
            warn_bytes: output.warn_bytes,
            checks_finite: false,
            runs: AtomicU64::new(0),
        })
    }

    /// Compiles a step for one device; sharding annotations are ignored.
    ///
    /// # Errors
    /// The back end rejects the program.
    pub fn single(client: &Client, step: StepProgram) -> Result<Step, Error> {
        let program = Program::single(client, &step.module)?;
        Ok(Step {
            client: client.clone(),
            step,
            program,
            initializer: OnceLock::new(),
            partitioned: None,
            in_flight: ExecuteOptions::IN_FLIGHT,
            warnings: Vec::new(),
            warn_bytes: 0,
            checks_finite: false,
            runs: AtomicU64::new(0),
        })
    }

    /// The warnings of [`Step::compile`]: those of partitioning (see [`Output::warnings`](shardc::Output::warnings)), and SH0727 if
    /// the mesh has several devices and each device computes the whole step.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The warnings to print: see [`Output::warnings_to_print`](shardc::Output::warnings_to_print).
    #[must_use]
    pub fn warnings_to_print(&self) -> Selection {
        select(&self.warnings, self.warn_bytes)
    }

    /// Checks metrics and variables for NaN and infinity after each execution. An element that is not finite is an error (SH0728) that
    /// names the execution (from 1) and the tensor. The check copies all metrics and variables to the host, which is slow.
    ///
    /// In a job of several processes, all processes must request the check.
    #[must_use]
    pub fn check_finite(mut self) -> Step {
        self.checks_finite = true;
        self
    }

    /// Sets the maximum number of executions in flight on the client; the default is two, the minimum one.
    #[must_use]
    pub fn with_in_flight(mut self, runs: usize) -> Step {
        self.in_flight = runs;
        self
    }

    /// The initial values of all variables, computed on their devices. The values are the same for every mesh.
    ///
    /// # Errors
    /// Initial values do not fit, or an execution fails.
    pub fn init(&self, seed: u64) -> Result<State, Error> {
        let program = match self.initializer.get() {
            Some(program) => program,
            None => {
                let compiled = self.compile_initializer()?;
                self.initializer.get_or_init(|| compiled)
            }
        };
        let key = HostArray::from_slice(&[(seed >> 32) as u32, seed as u32], &[2])?;
        let key = program.put(&self.client, &[key])?;
        self.state_of(program.step(&key)?)
    }

    /// Compiles the program that computes initial values from a key, with the sharding of each variable.
    fn compile_initializer(&self) -> Result<Program, Error> {
        let mut module = self.step.initializer()?;
        let Some((compiler, interface)) = &self.partitioned else {
            return Program::single(&self.client, &module);
        };
        let mesh = module.mesh_names.first().map(|(_, &mesh)| mesh);
        if let (Some(mesh), Some(func)) = (mesh, module.entry()) {
            for (i, &argument) in self.step.arguments.iter().enumerate() {
                let sharding = TensorSharding { mesh, ..interface.inputs[argument].sharding.clone() };
                let sharding = module.shardings.intern(sharding);
                module.funcs[func].res_shardings[i] = PackedOption::from(sharding);
            }
        }
        Program::partitioned(&self.client, &compiler.partition_module(module)?)
    }

    /// A state from arrays by name. The names must be exactly those of the step's variables.
    ///
    /// # Errors
    /// A variable is missing or unknown, or an array has a different shape or element type (SH0721).
    pub fn put(&self, arrays: &IndexMap<String, HostArray>) -> Result<State, Error> {
        let names = || self.step.variables.iter().map(|v| v.name.as_str());
        let mut wrong = Vec::new();
        for name in arrays.keys().filter(|name| !names().any(|known| known == *name)) {
            wrong.push(format!("{name:?} is not a variable of the step"));
        }
        for name in names().filter(|name| !arrays.contains_key(*name)) {
            wrong.push(format!("{name:?} is missing"));
        }
        for variable in &self.step.variables {
            let want: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
            if let Some(array) = arrays.get(&variable.name)
                && (array.shape != want || array.dtype != variable.dtype)
            {
                let (have, name) = (array.ty(), &variable.name);
                wrong.push(format!("{name:?} must be {}{want:?}, got {have}", variable.dtype));
            }
        }
        if !wrong.is_empty() {
            let text = format!("the arrays do not match the variables of the step: {}", wrong.join("; "));
            return Err(Diagnostic::invalid("SH0721", text).into());
        }
        let spread = |i: usize| {
            let port = &self.program.inputs()[self.step.arguments[i]];
            let array = &arrays[&self.step.variables[i].name];
            let devices = port.place(self.program.executable().placement())?;
            Ok(ShardedArray::from_host(&self.client, &*devices, port.layout.clone(), array)?)
        };
        self.state_of((0..self.step.variables.len()).map(spread).collect::<Result<_, Error>>()?)
    }

    /// Builds a state block by block, for variables that do not fit in host memory. `block` returns the elements of a variable within
    /// bounds, and is called once for each distinct block. It returns `None` for a variable that it does not have, which is then taken from
    /// `others`. A variable that is initialized as a copy of another variable gets the value that `block` returns for the other variable.
    ///
    /// # Errors
    /// The errors of `block`; a block has a different shape or element type (SH0721); `others` lacks a variable (SH0720).
    pub fn put_blocks(
        &self,
        others: Option<&State>,
        mut block: impl FnMut(&Variable, &[Range<usize>]) -> Result<Option<HostArray>, Error>,
    ) -> Result<State, Error> {
        let mut arrays = Vec::with_capacity(self.step.variables.len());
        for (variable, &argument) in self.step.variables.iter().zip(&self.step.arguments) {
            let port = &self.program.inputs()[argument];
            let mut given = self.blocks(port, |bounds| block(variable, bounds))?;
            if let (None, Some(source)) = (&given, self.step.source(variable)) {
                given = self.blocks(port, |bounds| {
                    let copied = |array: HostArray| converted(array, variable.dtype);
                    block(source, bounds)?.map(copied).transpose()
                })?;
            }
            let array = match given {
                Some(array) => array,
                None => match others.and_then(|others| others.arrays.get(&variable.name)) {
                    Some(array) if *array.layout() == port.layout => array.clone(),
                    Some(array) => self.spread(port, &array.to_host()?)?,
                    None => {
                        let text = format!("there is no initial value for the variable {:?}", variable.name);
                        return Err(Diagnostic::invalid("SH0720", text)
                            .hint("pass a state that contains this variable")
                            .into());
                    }
                },
            };
            arrays.push(array);
        }
        self.state_of(arrays)
    }

    /// Builds an array from the blocks that `block` returns; each block is requested once. Returns `None` if `block` returns `None`.
    fn blocks(
        &self,
        port: &Port,
        mut block: impl FnMut(&[Range<usize>]) -> Result<Option<HostArray>, Error>,
    ) -> Result<Option<ShardedArray>, Error> {
        let layout = &port.layout;
        let mut checked = |bounds: &[Range<usize>]| {
            let Some(array) = block(bounds)? else { return Ok(None) };
            let want: Vec<usize> = bounds.iter().map(|bounds| bounds.end - bounds.start).collect();
            if array.shape != want || array.dtype != port.ty.dtype {
                let text = format!("a block must be {}{want:?}, got {}", port.ty.dtype, array.ty());
                return Err(Error::from(Diagnostic::invalid("SH0721", text)));
            }
            Ok(Some(array))
        };
        if layout.num_addends() > 1 {
            let whole: Vec<Range<usize>> = layout.global_shape().iter().map(|&n| 0..n).collect();
            return checked(&whole)?.map(|array| self.spread(port, &array)).transpose();
        }
        let mut held: BTreeMap<&[usize], HostArray> = BTreeMap::new();
        let mut buffers = Vec::new();
        let placement = &*port.place(self.program.executable().placement())?;
        for (device, &d) in placement.devices().iter().zip(placement.places()) {
            let (Some(number), Some(offsets), Some(extent)) =
                (layout.block(d), layout.offsets(d), layout.extent(d))
            else {
                continue;
            };
            let array = match held.entry(number) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    // A block that contains only padding begins beyond the end of the array.
                    let bounds = offsets.iter().zip(&extent).zip(layout.global_shape());
                    let bounds: Vec<Range<usize>> =
                        bounds.map(|((&at, &n), &size)| at.min(size)..at.min(size) + n).collect();
                    let Some(array) = checked(&bounds)? else { return Ok(None) };
                    let origin = vec![0; extent.len()];
                    entry.insert(match extent == layout.local_shape() {
                        true => array,
                        false => array.slice_block(&origin, layout.local_shape(), LOUD_PADDING)?,
                    })
                }
            };
            buffers.push(vec![self.client.buffer_from_host(array, device)?]);
        }
        let layouts = std::slice::from_ref(layout);
        Ok(ShardedArray::from_results_on(placement, &buffers, layouts)?.pop())
    }

    /// Runs the step: the state is updated in place. Inputs are given by name.
    ///
    /// Returns before the devices are done; reading a metric or a variable waits for the execution. If the maximum number of executions is
    /// in flight ([`Step::with_in_flight`]), `run` first waits for the oldest execution. To keep the devices busy, read the metrics of a
    /// step after starting the next step.
    ///
    /// # Errors
    /// With [`Step::check_finite`], an element of a metric or a variable is not finite (SH0728); the state has then been updated.
    ///
    /// An input is missing, unknown or given twice, the state belongs to another step (SH0720), or an array does not match; the state is
    /// then unchanged. The execution cannot be started, or the previous one has failed; the state is then lost (SH0722). If the execution
    /// fails later, the next use of its metrics or state returns the error.
    pub fn run<'a, F: Into<Feed<'a>> + Copy>(
        &self,
        state: &mut State,
        inputs: &[(&str, F)],
    ) -> Result<Metrics, Error> {
        self.run_after(state, inputs, Duration::ZERO)
    }

    /// Runs the step. `input` is how long the caller waited for the inputs, for the times of the step.
    pub(crate) fn run_after<'a, F: Into<Feed<'a>> + Copy>(
        &self,
        state: &mut State,
        inputs: &[(&str, F)],
        input: Duration,
    ) -> Result<Metrics, Error> {
        self.check_state(state)?;
        let sending = Instant::now();
        let fed = self.feed(inputs)?;
        let transfer = sending.elapsed();
        let mut arguments: Vec<Option<ShardedArray>> = vec![None; self.program.inputs().len()];
        for (port, array) in self.step.inputs.iter().zip(fed) {
            arguments[port.index] = Some(array);
        }
        for (variable, &argument) in self.step.variables.iter().zip(&self.step.arguments) {
            arguments[argument] = state.arrays.get(&variable.name).cloned();
        }
        let arguments: Vec<ShardedArray> = arguments.into_iter().flatten().collect();
        // Inputs are checked before the state is taken, so that an error does not lose the state.
        self.program.check_spread(&arguments)?;
        let mut held = std::mem::take(&mut state.arrays);
        let mut kept = Vec::with_capacity(held.len());
        for (variable, result) in self.step.variables.iter().zip(&self.step.results) {
            // Arrays that the step does not change are kept; changed arrays are donated.
            kept.push(held.swap_remove(&variable.name).filter(|_| result.is_none()));
        }
        let (mut results, execution) = self.program.launch(arguments, self.in_flight)?;
        let metrics = results.split_off(results.len() - self.step.metrics.len());
        let mut results: Vec<Option<ShardedArray>> = results.into_iter().map(Some).collect();
        for ((variable, kept), result) in self.step.variables.iter().zip(kept).zip(&self.step.results) {
            let next = kept.or_else(|| results.get_mut((*result)?)?.take());
            state.arrays.extend(next.map(|next| (variable.name.clone(), next)));
        }
        let metric = self.step.metrics.iter().map(|port| port.name.clone());
        let run = Run { execution, input, transfer };
        let metrics = Metrics { arrays: metric.zip(metrics).collect(), processes: self.processes(), run };
        let number = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        if self.checks_finite {
            let metric = metrics.arrays.iter().map(|(name, array)| ("metric", name, array));
            let variable = state.arrays.iter().map(|(name, array)| ("variable", name, array));
            for (what, name, array) in metric.chain(variable) {
                let array = to_host(array, self.processes().as_ref())?;
                if let Some(error) = not_finite(number, what, name, &array) {
                    return Err(error.into());
                }
            }
        }
        Ok(metrics)
    }

    /// Returns an error unless a state has exactly the variables of this step.
    pub(crate) fn check_state(&self, state: &State) -> Result<(), Error> {
        let variables = &self.step.variables;
        if state.arrays.is_empty() && !variables.is_empty() {
            let text = "the state is lost: a failed run had donated its memory";
            return Err(Diagnostic::invalid("SH0722", text)
                .hint("restore a checkpoint, or initialize the state again")
                .into());
        }
        let missing =
            variables.iter().map(|variable| &variable.name).find(|name| !state.arrays.contains_key(*name));
        let text = match missing {
            Some(name) => format!("the state lacks the variable {name:?} of this step"),
            None if state.arrays.len() > variables.len() => {
                format!(
                    "the state has {} variables, but this step has {}",
                    state.arrays.len(),
                    variables.len()
                )
            }
            None => return Ok(()),
        };
        let hint = "the state belongs to a different step; `Step::adopt` creates a state with the variables of this step";
        Err(Diagnostic::invalid("SH0720", text).hint(hint).into())
    }

    /// Copies an input to the devices, with the step's sharding, for [`Step::run`].
    ///
    /// # Errors
    /// There is no input of this name (SH0720), or the array does not fit.
    pub fn put_input(&self, name: &str, array: &HostArray) -> Result<ShardedArray, Error> {
        self.spread(self.input(name)?, array)
    }

    /// The inputs on the devices, in program order.
    fn feed<'a, F: Into<Feed<'a>> + Copy>(&self, inputs: &[(&str, F)]) -> Result<Vec<ShardedArray>, Error> {
        let names = || self.step.inputs.iter().map(|port| port.name.as_str());
        if let Some((name, _)) = inputs.iter().find(|(name, _)| !names().any(|known| known == *name)) {
            return Err(unknown("input", name, names()));
        }
        let is_again = |i: usize| inputs[..i].iter().any(|(name, _)| *name == inputs[i].0);
        if let Some(i) = (0..inputs.len()).find(|&i| is_again(i)) {
            let text = format!("the input {:?} is given twice", inputs[i].0);
            return Err(Diagnostic::invalid("SH0720", text).into());
        }
        let mut fed = Vec::with_capacity(self.step.inputs.len());
        for port in &self.step.inputs {
            let Some((_, given)) = inputs.iter().find(|(name, _)| *name == port.name) else {
                let text = format!("the input {:?} is missing", port.name);
                return Err(Diagnostic::invalid("SH0720", text).into());
            };
            let array = match (*given).into() {
                Feed::Devices(array) => array.clone(),
                Feed::Host(array) => {
                    let taken = &self.program.inputs()[port.index];
                    fits("input", &port.name, &array.ty(), taken)?;
                    self.spread(taken, array)?
                }
            };
            fed.push(array);
        }
        Ok(fed)
    }

    pub(crate) fn spread(&self, port: &Port, array: &HostArray) -> Result<ShardedArray, Error> {
        let devices = port.place(self.program.executable().placement())?;
        Ok(ShardedArray::send(&self.client, &*devices, port.layout.clone(), array)?)
    }

    /// The program's [`Port`] for the input `name`.
    pub(crate) fn input(&self, name: &str) -> Result<&Port, Error> {
        match self.step.inputs.iter().find(|port| port.name == name) {
            Some(port) => Ok(&self.program.inputs()[port.index]),
            None => Err(unknown("input", name, self.step.inputs.iter().map(|port| port.name.as_str()))),
        }
    }

    /// The processes of the job, if there are several.
    #[must_use]
    pub fn processes(&self) -> Option<Processes> {
        self.client.processes().filter(|_| self.partitioned.is_some()).cloned()
    }

    /// The variables, each with the [`Port`] of its program parameter.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&Variable, &Port)> {
        let inputs = self.program.inputs();
        self.step.variables.iter().zip(self.step.arguments.iter().map(|&argument| &inputs[argument]))
    }

    /// The variable whose initial value `variable` copies.
    pub(crate) fn source(&self, variable: &Variable) -> Option<&Variable> {
        self.step.source(variable)
    }

    /// The mesh that the step was written for.
    pub(crate) fn mesh(&self) -> shardc_graph::Mesh {
        self.step.mesh.clone()
    }

    /// Compiles another program that uses variables of this step, with the same shardings. Metrics of the same name also keep their
    /// sharding.
    pub(crate) fn beside(&self, mut program: StepProgram) -> Result<Step, Error> {
        let Some((compiler, interface)) = &self.partitioned else {
            return Step::single(&self.client, program);
        };
        let module = &mut program.module;
        let mesh = module.mesh_names.first().map(|(_, &mesh)| mesh);
        let entry = module.entry().and_then(|func| Some((func, module.funcs[func].body?)));
        if let (Some(mesh), Some((func, body))) = (mesh, entry) {
            for (variable, &argument) in program.variables.iter().zip(&program.arguments) {
                let Some(own) = self.step.variables.iter().position(|v| v.name == variable.name) else {
                    continue;
                };
                let sharding = &interface.inputs[self.step.arguments[own]].sharding;
                let sharding = module.shardings.intern(TensorSharding { mesh, ..sharding.clone() });
                let value = module.regions[body].args[argument];
                module.shardings.set(value, Some(sharding));
                for metric in program.metrics.iter().filter(|metric| metric.name == variable.name) {
                    module.funcs[func].res_shardings[metric.index] = PackedOption::from(sharding);
                }
            }
        }
        Step::compile(&self.client, compiler, program)
    }

    fn state_of(&self, arrays: Vec<ShardedArray>) -> Result<State, Error> {
        let names = self.step.variables.iter().map(|v| v.name.clone());
        Ok(State { arrays: names.zip(arrays).collect(), processes: self.processes() })
    }

    /// The client of the devices.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The [`Port`] of each variable, in order, and the variable's sharding in the partitioned program.
    pub(crate) fn variable_ports(
        &self,
    ) -> impl Iterator<Item = (&Variable, &Port, Option<(&Interface, &InterfaceTensor)>)> {
        self.step.variables.iter().zip(&self.step.arguments).map(|(variable, &argument)| {
            let tensor = self.partitioned.as_ref().and_then(|(_, interface)| {
                let tensor = interface.inputs.get(argument)?;
                Some((interface, tensor))
            });
            (variable, &self.program.inputs()[argument], tensor)
        })
    }

    /// The variables, in order.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.step.variables
    }

    /// The program on its devices.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the floating-point operations of an execution on all devices together, as estimated by the back end, or `None` if the back
    /// end has no estimate. Rematerialized operations count; each loop body counts once.
    #[must_use]
    pub fn flops(&self) -> Option<f64> {
        let devices = self.program.executable().placement().count() as f64;
        self.program.executable().cost().ok().map(|cost| cost.flops * devices)
    }
}

/// The array converted to a different element type.
pub(crate) fn converted(array: HostArray, dtype: DType) -> Result<HostArray, Error> {
    if array.dtype == dtype {
        return Ok(array);
    }
    Ok(HostArray::from_f64(dtype, &array.shape, &array.to_f64_vec())?)
}

/// Returns an error unless the type of an array is the type that the step expects.
pub(crate) fn fits(what: &str, name: &str, given: &ArrayType, taken: &Port) -> Result<(), Error> {
    if *given == taken.ty {
        return Ok(());
    }
    let text = format!("the {what} {name:?} is {given}, but the step expects {}", taken.ty);
    Err(Diagnostic::invalid("SH0721", text).into())
}

/// Returns a warning if the mesh has several devices, but no input or output of the step is sharded.
fn replicated(interface: &Interface) -> Option<Diagnostic> {
    let devices = interface.mesh.num_devices();
    let is_whole = |tensor: &InterfaceTensor| tensor.local_shape == tensor.global.shape;
    if devices < 2 || !interface.inputs.iter().chain(&interface.outputs).all(is_whole) {
        return None;
    }
    let text = format!("nothing is sharded: each of the {devices} devices computes the full step");
    let hint = "mark the batch (`mark_sharding`), or apply a strategy: `shardc::strategy::apply`";
    Some(Diagnostic::warning(Class::InvalidInput, "SH0727", text).hint(hint))
}
