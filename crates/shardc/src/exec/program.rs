//! Programs compiled for the devices of a client.

use std::borrow::Cow;
use std::sync::Arc;

use shardc_ir::{AttrDict, Module, OpKind, SpmdMode};
use shardc_passes::driver::specialize::{is_needed as is_refinable, specialize};
use shardc_passes::gspmd::{import_gspmd, is_annotated};
use shardc_passes::manual::unroll_manual;
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};
use shardc_passes::transforms::decompose::{decompose, is_needed};
use shardc_passes::transforms::dense_exchange::write_dense_exchanges;
use shardc_passes::transforms::inline::inline_calls;
use shardc_runtime::mismatch::{self, Mismatch, Problem};
use shardc_runtime::{
    ArrayType, Buffer, Client, CompileOptions, DeviceLayout, ExecuteOptions, Execution, HostArray,
    LoadedExecutable, OptionValue, Placement, Processes, RuntimeError, ShardLayout, ShardedArray,
};

use super::limits::{Limits, program_need};
use super::{backend_for, compile_options, layout, static_shape};
use crate::backend::{self, Backend, BackendOptions};
use crate::{Error, Output};

/// A parameter or result of a program.
#[derive(Clone, Debug)]
pub struct Port {
    /// The name in the program, if any.
    pub name: Option<String>,
    /// Element type and shape of the full array.
    pub ty: ArrayType,
    /// The block that each device holds.
    pub layout: ShardLayout,
    /// Whether the parameter is donated: the program may use its memory for a result.
    pub is_donated: bool,
    /// The memory kind (such as `pinned_host`), if it is not the device's own memory.
    pub memory_kind: Option<Box<str>>,
    /// The memory layout that the compiled program expects of a parameter, if it is not the plugin's default.
    pub device_layout: Option<Arc<DeviceLayout>>,
}

impl Port {
    pub(super) fn of(interface: &Interface, tensor: &InterfaceTensor) -> Result<Port, Error> {
        Ok(Port {
            name: tensor.name.clone(),
            ty: ArrayType { dtype: tensor.global.dtype, shape: static_shape(&tensor.global)? },
            layout: layout(interface, tensor)?,
            is_donated: tensor.donated_to.is_some(),
            memory_kind: tensor.memory_kind.clone(),
            device_layout: None,
        })
    }

    /// Returns the devices of a program, with the memory kind and memory layout of this parameter.
    ///
    /// # Errors
    /// A device does not have the memory kind.
    pub fn place<'p>(&self, devices: &'p Placement) -> Result<Cow<'p, Placement>, RuntimeError> {
        let placement = match &self.memory_kind {
            Some(kind) => Cow::Owned(devices.in_memory(kind)?),
            None => Cow::Borrowed(devices),
        };
        Ok(match &self.device_layout {
            Some(layout) => Cow::Owned(placement.with_layout(layout)),
            None => placement,
        })
    }

    /// The block that each device holds.
    fn block(&self) -> ArrayType {
        ArrayType { dtype: self.ty.dtype, shape: self.layout.local_shape().to_vec() }
    }
}

/// A program compiled for the devices of a client.
#[derive(Debug)]
pub struct Program {
    executable: LoadedExecutable,
    inputs: Vec<Port>,
    /// `None` for a result whose size is known only after the execution.
    outputs: Vec<Option<Port>>,
    limits: Limits,
    /// Whether the devices use this machine's memory.
    is_on_host: bool,
}

impl Program {
    /// Compiles a module for one device, ignoring its annotations. A named computation is replaced by its body. A manual
    /// computation is unrolled over the coordinates of its devices, with arithmetic instead of collectives.
    ///
    /// # Errors
    /// The back end rejects the program, or a manual computation cannot be unrolled.
    pub fn single(client: &Client, module: &Module) -> Result<Program, Error> {
        let mut plain = global_form(module)?;
        if has_shardy_bodies(&plain) {
            let module = plain.to_mut();
            inline_calls(module)?;
            if let Some(entry) = module.entry() {
                // Unrolling supports neither collectives with a root nor collectives that are custom calls. Both are rewritten first.
                if let Some(body) = module.funcs[entry].body
                    && is_needed(module, body)
                {
                    decompose(module, body);
                }
                write_dense_exchanges(module);
                unroll_manual(module, entry)?;
            }
        }
        for body in plain.bodies().filter(|&body| is_needed(&plain, body)).collect::<Vec<_>>() {
            decompose(plain.to_mut(), body);
        }
        let options = BackendOptions {
            spmd_mode: SpmdMode::Replica,
            num_devices: Some(1),
            backend: backend_of(client),
            ..BackendOptions::default()
        };
        let code = backend::bytecode(&plain, &options)?;
        let executable = client.compile(&code, &for_client(client, CompileOptions::replicas(1)))?;
        let (inputs, outputs) = ports(&plain)?;
        Program::new(client, executable, inputs, outputs, &plain)
    }

    /// Compiles a partitioned program for all its devices. In a job of several processes, each process must call this, and compiles for its
    /// own devices.
    ///
    /// # Errors
    /// The back end rejects the program, the client has too few devices, or their number is not a multiple of the number of processes.
    pub fn partitioned(client: &Client, output: &Output) -> Result<Program, Error> {
        let processes = client.processes().map_or(1, Processes::count);
        let options = BackendOptions { processes, ..output.backend_options(backend_of(client)) };
        let code = backend::bytecode(&output.module, &options)?;
        let n = output.num_devices();
        let executable = if options.backend == Backend::Cpu && processes > 1 {
            client.compile_across(
                &code,
                &for_client(client, compile_options(output.interface.mode, n / processes)),
            )?
        } else {
            client.compile(&code, &for_client(client, compile_options(output.interface.mode, n)))?
        };
        let interface = &output.interface;
        let inputs = interface.inputs.iter().map(|t| Port::of(interface, t));
        let outputs = interface.outputs.iter().map(|t| Port::of(interface, t).map(Some));
        let inputs = inputs.collect::<Result<Vec<_>, Error>>()?;
        let outputs = outputs.collect::<Result<Vec<_>, Error>>()?;
        Program::new(client, executable, inputs, outputs, &output.module)
    }

    fn new(
        client: &Client,
        executable: LoadedExecutable,
        mut inputs: Vec<Port>,
        mut outputs: Vec<Option<Port>>,
        module: &Module,
    ) -> Result<Program, Error> {
        let types: Vec<ArrayType> = inputs.iter().map(Port::block).collect();
        match executable.parameter_layouts(&types)? {
            Some(layouts) => {
                for (port, layout) in inputs.iter_mut().zip(layouts) {
                    port.device_layout = layout.clone();
                }
            }
            None if requests_layouts(module) => {
                return Err(shardc_ir::Diagnostic::unsupported(
                    "SH0704",
                    "the program requests memory layouts (mhlo.layout_mode), but the plugin does not report the layouts that it chose",
                )
                .hint("update the plugin, or export the program without memory layouts")
                .into());
            }
            None => {}
        }
        executable.set_parameters(types);
        let is_on_host = client.platform_name() == "cpu";
        if is_on_host {
            // CPU devices use host memory, so memory kinds have no meaning.
            inputs.iter_mut().chain(outputs.iter_mut().flatten()).for_each(|port| port.memory_kind = None);
        }
        Ok(Program { executable, inputs, outputs, limits: Limits::default(), is_on_host })
    }

    /// Sets the limits of an execution.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Program {
        self.limits = limits;
        self
    }

    /// The parameters of the program, in order.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// Runs the program on full arrays: shards the inputs over the devices, runs all devices, and assembles the outputs.
    ///
    /// # Errors
    /// [`RuntimeError::Inputs`] with all mismatches of the inputs, before anything is sent; [`RuntimeError::Memory`] if this machine has
    /// too little memory; [`RuntimeError::TimeLimit`]; the execution fails, or devices that hold the same block disagree on it by more than
    /// rounding.
    pub fn run(&self, client: &Client, inputs: &[HostArray]) -> Result<Vec<HostArray>, Error> {
        let arguments = self.put(client, inputs)?;
        // The arrays have no other owner, so their memory may be donated.
        let results = self.execute(arguments, self.donated())?;
        let count = results.first().map_or(0, Vec::len);
        let mut outputs = Vec::with_capacity(count);
        for o in 0..count {
            let shards =
                results.iter().map(|device| device[o].to_host()).collect::<Result<Vec<_>, RuntimeError>>()?;
            match self.outputs.get(o).and_then(Option::as_ref) {
                Some(Port { layout, .. }) => {
                    let places = self.executable.placement().places();
                    if let Some(disagreement) =
                        layout.check_replicas_at(places, &shards)?.filter(|found| !found.is_rounding)
                    {
                        return Err(super::disagreement(o, &disagreement));
                    }
                    outputs.push(self.whole(
                        client,
                        layout,
                        &shards,
                        results.iter().map(|device| &device[o]),
                    )?);
                }
                None => outputs.extend(shards.into_iter().next()),
            }
        }
        Ok(outputs)
    }

    /// Assembles an output from its blocks, including those of other processes.
    fn whole<'a>(
        &self,
        client: &Client,
        layout: &ShardLayout,
        shards: &[HostArray],
        buffers: impl Iterator<Item = &'a Buffer>,
    ) -> Result<HostArray, Error> {
        let placement = self.executable.placement();
        let Some(processes) = client.processes().filter(|_| placement.devices().len() < placement.count())
        else {
            return Ok(layout.gather(shards)?);
        };
        let lists: Vec<Vec<Buffer>> = buffers.map(|buffer| vec![buffer.clone()]).collect();
        let arrays = ShardedArray::from_results_on(placement, &lists, std::slice::from_ref(layout))?;
        let Some(array) = arrays.first() else { return Ok(layout.gather(shards)?) };
        Ok(array.to_host_across(processes)?)
    }

    /// Compares the memory of an execution with the [`Limits`], for callers that put arrays on the devices without [`Program::put`].
    ///
    /// # Errors
    /// [`RuntimeError::Memory`] if this machine has too little memory.
    pub fn check_memory(&self) -> Result<(), Error> {
        Ok(program_need(self).check("running the program", self.limits.memory)?)
    }

    /// Shards full arrays over the devices, with the program's shardings, for [`Program::step`]. In a job of several processes, each
    /// process needs only the elements for its own devices; the other elements may have any value.
    ///
    /// # Errors
    /// [`RuntimeError::Inputs`] with all mismatches of the arrays, before anything is sent; [`RuntimeError::Memory`] if this machine has
    /// too little memory.
    pub fn put(&self, client: &Client, inputs: &[HostArray]) -> Result<Vec<ShardedArray>, Error> {
        self.check_arrays(inputs)?;
        self.check_memory()?;
        let devices = self.executable.placement();
        let spread = |(port, array): (&Port, &HostArray)| {
            Ok(ShardedArray::from_host(client, &*port.place(devices)?, port.layout.clone(), array)?)
        };
        self.inputs.iter().zip(inputs).map(spread).collect()
    }

    /// Runs the program on arrays on its devices, and leaves the results there. The arrays remain valid. Devices that hold the same block
    /// are not compared; see [`ShardedArray::check_replicas`].
    ///
    /// # Errors
    /// [`RuntimeError::Inputs`] with all mismatches of the arrays (number, types, shardings), before anything is started;
    /// [`RuntimeError::TimeLimit`]; the execution fails, or a result has an unknown size (SH0701).
    pub fn step(&self, inputs: &[ShardedArray]) -> Result<Vec<ShardedArray>, Error> {
        self.check_spread(inputs)?;
        self.finish(self.execute(inputs.to_vec(), Vec::new())?)
    }

    /// Runs the program as [`Program::step`] does, and donates the arrays' memory to results where the program requests it
    /// (`tf.aliasing_output`, written by `jax.jit(donate_argnums=..)`). An array that has clones is not donated: the program
    /// gets a copy. After an error the arrays are lost.
    ///
    /// # Errors
    /// The errors of [`Program::step`].
    pub fn step_donating(&self, inputs: Vec<ShardedArray>) -> Result<Vec<ShardedArray>, Error> {
        self.check_spread(&inputs)?;
        self.finish(self.execute(inputs, self.donated())?)
    }

    /// Starts the program like [`Program::step_donating`], and returns before the devices are done: the results may not be ready. If
    /// `in_flight` executions of the client are in progress, the call first waits until one of them ends.
    ///
    /// # Errors
    /// The errors of [`Program::step`] that are found before the start. Later errors are returned by [`Execution::wait`], and by any use
    /// of the arrays.
    pub fn launch(
        &self,
        inputs: Vec<ShardedArray>,
        in_flight: usize,
    ) -> Result<(Vec<ShardedArray>, Execution), Error> {
        self.check_spread(&inputs)?;
        let (results, execution) = self.start(inputs, self.donated(), in_flight)?;
        Ok((self.finish(results)?, execution))
    }

    /// The inputs that may be donated.
    fn donated(&self) -> Vec<usize> {
        let donated = self.inputs.iter().enumerate().filter(|(_, port)| port.is_donated);
        donated.map(|(i, _)| i).collect()
    }

    fn execute(&self, inputs: Vec<ShardedArray>, donate: Vec<usize>) -> Result<Vec<Vec<Buffer>>, Error> {
        let (results, execution) = self.start(inputs, donate, usize::MAX)?;
        execution.wait()?;
        Ok(results)
    }

    fn start(
        &self,
        inputs: Vec<ShardedArray>,
        mut donate: Vec<usize>,
        in_flight: usize,
    ) -> Result<(Vec<Vec<Buffer>>, Execution), Error> {
        let mut lists: Vec<Vec<Buffer>> =
            vec![Vec::with_capacity(inputs.len()); self.executable.devices().len()];
        for (i, (port, array)) in self.inputs.iter().zip(inputs).enumerate() {
            // `donate` is in ascending order. If the caller keeps an array in a non-default memory kind, a copy of each buffer is donated,
            // because the buffer itself cannot be donated.
            let is_lent = port.memory_kind.is_some() && port.is_donated && donate.binary_search(&i).is_err();
            let devices = self.executable.devices().iter();
            for (device, (list, buffer)) in devices.zip(lists.iter_mut().zip(array.into_buffers())) {
                list.push(match &port.memory_kind {
                    Some(kind) if is_lent || **kind != *buffer.memory_kind()? => {
                        buffer.copied_to(device, kind)?
                    }
                    _ => buffer,
                });
            }
            donate.extend(is_lent.then_some(i));
        }
        let options = ExecuteOptions { time_limit: self.limits.time, donate, in_flight };
        Ok(self.executable.launch(lists, &options)?)
    }

    /// The results of an execution, as arrays on the devices.
    fn finish(&self, results: Vec<Vec<Buffer>>) -> Result<Vec<ShardedArray>, Error> {
        let layouts: Option<Vec<ShardLayout>> =
            self.outputs.iter().map(|port| Some(port.as_ref()?.layout.clone())).collect();
        let Some(layouts) = layouts else {
            return Err(shardc_ir::Diagnostic::unsupported(
                "SH0701",
                "a result has an unknown size, so it cannot stay on the devices",
            )
            .hint("use `Program::run`, which copies it to the host")
            .into());
        };
        Ok(ShardedArray::from_results_on(self.executable.placement(), &results, &layouts)?)
    }

    /// Compares full arrays with the program's parameters.
    fn check_arrays(&self, given: &[HostArray]) -> Result<(), Error> {
        let types: Vec<ArrayType> = given.iter().map(HostArray::ty).collect();
        let damaged = given.iter().enumerate().filter_map(|(i, array)| {
            Some(Mismatch::new(i, Problem::Data { reason: array.check().err()?.to_string() }))
        });
        self.refuse(self.compare(&types).into_iter().chain(damaged).collect())
    }

    /// Compares arrays on devices with the program's parameters, for callers that must not lose the arrays to an execution that cannot
    /// start.
    ///
    /// # Errors
    /// [`RuntimeError::Inputs`] with all mismatches (number, types, shardings).
    pub fn check_spread(&self, given: &[ShardedArray]) -> Result<(), Error> {
        let types: Vec<ArrayType> = given.iter().map(ShardedArray::ty).collect();
        let mut wrong = self.compare(&types);
        for (i, (port, array)) in self.inputs.iter().zip(given).enumerate() {
            if port.ty == array.ty() && port.layout != *array.layout() {
                let (expected, given) = (port.layout.to_string(), array.layout().to_string());
                let given =
                    if expected == given { format!("{given}, in a different device order") } else { given };
                wrong.push(Mismatch::new(i, Problem::Layout { expected, given }));
            }
        }
        self.refuse(wrong)
    }

    fn compare(&self, given: &[ArrayType]) -> Vec<Mismatch> {
        let expected: Vec<ArrayType> = self.inputs.iter().map(|port| port.ty.clone()).collect();
        mismatch::compare(&expected, given)
    }

    fn refuse(&self, wrong: Vec<Mismatch>) -> Result<(), Error> {
        let name = |i: usize| self.inputs.get(i).and_then(|port| port.name.as_deref());
        let named = wrong.into_iter().map(|found| {
            let name = name(found.index);
            found.named(name)
        });
        Ok(RuntimeError::unless_fitting(named.collect(), self.inputs.len())?)
    }

    /// The results, in order; `None` for a result with an unknown size.
    pub(super) fn outputs(&self) -> &[Option<Port>] {
        &self.outputs
    }

    /// Whether the devices use this machine's memory.
    pub(super) fn is_on_host(&self) -> bool {
        self.is_on_host
    }

    /// The compiled program.
    #[must_use]
    pub fn executable(&self) -> &LoadedExecutable {
        &self.executable
    }
}

/// The module with static shapes, and without the custom calls that represent shardings, which neither back ends nor the interpreter know.
/// Import converts these calls to sharding constraints.
pub(super) fn global_form(module: &Module) -> Result<Cow<'_, Module>, Error> {
    let mut plain = Cow::Borrowed(module);
    if is_refinable(module) {
        specialize(plain.to_mut(), &[])?;
    }
    if is_annotated(&plain) {
        let mut read = plain.clone().into_owned();
        if import_gspmd(&mut read, None).is_ok() {
            plain = Cow::Owned(read);
        }
    }
    Ok(plain)
}

/// The parameters and results of a module that is compiled for one device.
fn ports(module: &Module) -> Result<(Vec<Port>, Vec<Option<Port>>), Error> {
    let Some(func) = module.entry().map(|entry| &module.funcs[entry]) else {
        return Err(shardc_ir::Diagnostic::invalid("SH0702", "the program has no entry function").into());
    };
    let args = func.body.map(|body| module.regions[body].args.as_slice()).unwrap_or_default();
    let types = args.iter().map(|&arg| module.values[arg].ty);
    let port = |ty, name: Option<String>, attrs: Option<&AttrDict>| -> Result<Port, Error> {
        let Some(tensor) = module.types.stored(ty) else {
            let message = format!(
                "the entry function has a parameter or result of unsupported type {}",
                module.types.display(ty)
            );
            return Err(shardc_ir::Diagnostic::unsupported("SH0703", message)
                .at(func.span)
                .hint("pass tensors in and out of the entry function")
                .into());
        };
        let shape = static_shape(tensor)?;
        let layout = ShardLayout::replicated(&shape, 1)?;
        let is_donated = attrs.is_some_and(|attrs| attrs.donated_to().is_some());
        let memory_kind = attrs.and_then(AttrDict::memory_kind).map(Box::from);
        let ty = ArrayType { dtype: tensor.dtype, shape };
        Ok(Port { name, ty, layout, is_donated, memory_kind, device_layout: None })
    };
    let inputs = types
        .enumerate()
        .map(|(i, ty)| port(ty, func.argument_name(&module.locs, i), func.arg_attrs.get(i)))
        .collect::<Result<_, Error>>()?;
    let results = func.results.iter().enumerate();
    let outputs = results.map(|(i, &ty)| port(ty, None, func.res_attrs.get(i)).ok()).collect();
    Ok((inputs, outputs))
}

/// Whether an argument or a result of the entry function requests a non-default memory layout.
fn requests_layouts(module: &Module) -> bool {
    let Some(func) = module.entry().map(|entry| &module.funcs[entry]) else { return false };
    func.arg_attrs.iter().chain(&func.res_attrs).any(|attrs| attrs.layout_mode().is_some())
}

/// The compiler for the devices of a client.
fn backend_of(client: &Client) -> Backend {
    client.platform_name().parse().map_or(Backend::Any, backend_for)
}

/// Compile options with the flags that keep XLA's CPU compiler from losing NaNs in minimum and maximum.
fn for_client(client: &Client, options: CompileOptions) -> CompileOptions {
    match backend_of(client) {
        Backend::Cpu => options.xla_option("xla_cpu_enable_fast_min_max", OptionValue::Bool(false)),
        _ => options,
    }
}

/// Whether the module contains a manual computation or a named computation, which back ends do not know.
fn has_shardy_bodies(module: &Module) -> bool {
    let is_shardy =
        |kind: &OpKind| matches!(kind, OpKind::ManualComputation(_) | OpKind::NamedComputation(_));
    module.ops.values().any(|op| is_shardy(&op.kind))
}
