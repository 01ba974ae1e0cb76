//! Programs that the interpreter runs, without a plugin.

mod blocks;
mod fault;

use shardc_interpreter::{Array, Compiled, Grid, Ieee, Launch, Options, Program as Code, Value};
use shardc_ir::{AttrDict, DType, Diagnostic, FuncId, Interrupt, Module, SpmdMode, Type};
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};
use shardc_runtime::mismatch::{self, Mismatch, Problem};
use shardc_runtime::{ArrayType, HostArray, RuntimeError, ShardLayout};

pub(super) use self::blocks::{Blocks, shared, unpadded};
pub(super) use self::fault::{array_error, run_error};
use super::program::global_form;
use super::{Limits, Port, disagreement, static_shape};
use crate::{Error, Output};

/// A program that the interpreter runs on one device, or on all devices of a partitioned program.
///
/// ```
/// use shardc::Compiler;
/// use shardc::exec::{Interpreted, Limits, random_inputs};
///
/// # fn main() -> Result<(), shardc::Error> {
/// let source = br#"
///   sdy.mesh @mesh = <["data"=4]>
///   func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<2xf32> {
///     %zero = stablehlo.constant dense<0.0> : tensor<f32>
///     %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
///         : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
///     return %0 : tensor<2xf32>
///   }
/// "#;
/// let output = Compiler::new().partition(source)?;
/// let inputs = random_inputs(&output.interface, 0)?;
/// let sums = Interpreted::partitioned(&output, Limits::default())?.run(&inputs)?;
/// assert_eq!(sums[0].shape, [2]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Interpreted {
    module: Module,
    entry: FuncId,
    /// The devices; `None` if the program is not partitioned.
    grid: Option<Grid>,
    inputs: Vec<Parameter>,
    outputs: Vec<Parameter>,
    limits: Limits,
}

/// A parameter or result.
#[derive(Clone, Debug)]
struct Parameter {
    /// `None` for a token, and for a result whose size is known only after the execution.
    port: Option<Port>,
    is_token: bool,
}

impl Parameter {
    fn of(interface: &Interface, tensor: &InterfaceTensor) -> Result<Parameter, Error> {
        let port = (!tensor.is_token).then(|| Port::of(interface, tensor)).transpose()?;
        Ok(Parameter { port, is_token: tensor.is_token })
    }

    /// The type of the array that represents the parameter.
    fn ty(&self) -> ArrayType {
        match &self.port {
            Some(port) => port.ty.clone(),
            None => token().ty(),
        }
    }
}

/// The array that represents a token.
fn token() -> HostArray {
    HostArray { dtype: DType::I1, shape: vec![0], data: Vec::new() }
}

impl Interpreted {
    /// Prepares a module for one device, ignoring its annotations. If the program has manual computations, the interpreter runs them on all
    /// devices of their mesh.
    ///
    /// # Errors
    /// The program has no entry function, or a parameter that is not a tensor with a static shape.
    pub fn single(module: &Module, limits: Limits) -> Result<Interpreted, Error> {
        let module = global_form(module)?.into_owned();
        let entry = entry_of(&module)?;
        let func = &module.funcs[entry];
        let params = func.params.iter().enumerate();
        let inputs = params
            .map(|(i, &ty)| {
                let name = func.argument_name(&module.locs, i);
                parameter(&module, ty, name, func.arg_attrs.get(i))
            })
            .collect::<Result<_, Error>>()?;
        let results = func.results.iter().map(|&ty| match parameter(&module, ty, None, None) {
            // The size is known after the execution.
            Err(_) => Parameter { port: None, is_token: false },
            Ok(parameter) => parameter,
        });
        let outputs = results.collect();
        Ok(Interpreted { entry, grid: None, inputs, outputs, limits, module })
    }

    /// Prepares a partitioned program for all its devices.
    ///
    /// # Errors
    /// The program has no entry function, or a parameter or result has no static shape.
    pub fn partitioned(output: &Output, limits: Limits) -> Result<Interpreted, Error> {
        let interface = &output.interface;
        let parameters = |tensors: &[InterfaceTensor]| -> Result<Vec<Parameter>, Error> {
            tensors.iter().map(|tensor| Parameter::of(interface, tensor)).collect()
        };
        Ok(Interpreted {
            entry: entry_of(&output.module)?,
            grid: Some(grid_of(output)),
            inputs: parameters(&interface.inputs)?,
            outputs: parameters(&interface.outputs)?,
            limits,
            module: output.module.clone(),
        })
    }

    /// The name and the type of each parameter, in order; a token is an array of booleans without elements.
    pub fn inputs(&self) -> impl Iterator<Item = (Option<&str>, ArrayType)> {
        self.inputs
            .iter()
            .map(|input| (input.port.as_ref().and_then(|port| port.name.as_deref()), input.ty()))
    }

    /// Runs the program on full arrays: shards the inputs, runs all devices, and assembles the outputs.
    ///
    /// # Errors
    /// [`RuntimeError::Inputs`] with all mismatches of the inputs; the interpreter does not support an operation (SH0710); a limit is reached
    /// (SH0711); the program fails (SH0712); devices that hold the same block disagree on it by more than rounding.
    pub fn run(&self, inputs: &[HostArray]) -> Result<Vec<HostArray>, Error> {
        self.check_arrays(inputs)?;
        let code = Code::<Ieee>::new(&self.module, options(self.limits, 0));
        let Some(grid) = self.grid else {
            let arguments = self.inputs.iter().zip(inputs);
            let arguments = arguments.map(|(input, array)| value(input, array)).collect::<Result<_, _>>()?;
            let results = Ieee::call(&code, self.entry, arguments);
            let results = results.map_err(|error| run_error(&error, self.limits))?;
            return results.into_iter().map(host).collect();
        };
        let mut arguments: Vec<Vec<Value<Ieee>>> = vec![Vec::new(); grid.devices()];
        for (input, array) in self.inputs.iter().zip(inputs) {
            match &input.port {
                None => arguments.iter_mut().for_each(|list| list.push(Value::Token)),
                Some(port) => {
                    let block = |device: usize| read(&port.layout.shard(array, device)?);
                    let blocks = shared(&port.layout, grid.devices(), block)?;
                    for (list, block) in arguments.iter_mut().zip(blocks) {
                        list.push(Value::Array(block));
                    }
                }
            }
        }
        let launches = arguments.into_iter().map(|args| Launch { func: self.entry, args }).collect();
        let outcome = Ieee::run(&code, grid, launches).map_err(|error| run_error(&error, self.limits))?;
        let mut devices: Vec<_> = outcome.results.into_iter().map(Vec::into_iter).collect();
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for (index, output) in self.outputs.iter().enumerate() {
            let shards =
                devices.iter_mut().filter_map(Iterator::next).map(host).collect::<Result<Vec<_>, _>>()?;
            outputs.push(match &output.port {
                None => token(),
                Some(port) => gathered(index, &port.layout, &shards)?,
            });
        }
        Ok(outputs)
    }

    /// Compares full arrays with the program's parameters.
    fn check_arrays(&self, given: &[HostArray]) -> Result<(), Error> {
        let expected: Vec<ArrayType> = self.inputs.iter().map(Parameter::ty).collect();
        let types: Vec<ArrayType> = given.iter().map(HostArray::ty).collect();
        let damaged = given.iter().enumerate().filter_map(|(i, array)| {
            Some(Mismatch::new(i, Problem::Data { reason: array.check().err()?.to_string() }))
        });
        let named = mismatch::compare(&expected, &types).into_iter().chain(damaged).map(|found| {
            let port = self.inputs.get(found.index).and_then(|input| input.port.as_ref());
            found.named(port.and_then(|port| port.name.as_deref()))
        });
        Ok(RuntimeError::unless_fitting(named.collect(), self.inputs.len())?)
    }
}

/// The devices of a partitioned program.
pub(super) fn grid_of(output: &Output) -> Grid {
    let devices = output.num_devices();
    match output.interface.mode {
        SpmdMode::Replica => Grid { replicas: devices, partitions: 1 },
        SpmdMode::Partition => Grid { replicas: 1, partitions: devices },
    }
}

/// The interpreter's options for these limits. The time limit begins now.
pub(super) fn options(limits: Limits, key: u64) -> Options {
    let interrupt =
        limits.time.map_or_else(Interrupt::default, |time| Interrupt::default().with_time_limit(time));
    Options {
        interrupt,
        max_work: limits.work.unwrap_or(u64::MAX),
        max_bytes: limits.memory.bytes().unwrap_or(u64::MAX),
        key,
    }
}

/// Seeded inputs as [`random_inputs`](super::random_inputs) creates them, with an array for each token.
pub(super) fn random_inputs(interface: &Interface, seed: u64) -> Result<Vec<HostArray>, Error> {
    let inputs = interface.inputs.iter().enumerate();
    inputs
        .map(|(i, tensor)| match tensor.is_token {
            true => Ok(token()),
            false => super::random_input(tensor, seed.wrapping_add(i as u64)),
        })
        .collect()
}

pub(super) fn entry_of(module: &Module) -> Result<FuncId, Error> {
    module.entry().ok_or_else(|| Diagnostic::invalid("SH0702", "the program has no entry function").into())
}

/// A parameter or result of a function that is not partitioned.
fn parameter(
    module: &Module,
    ty: shardc_ir::TypeId,
    name: Option<String>,
    attrs: Option<&AttrDict>,
) -> Result<Parameter, Error> {
    if matches!(module.types.get(ty), Type::Token) {
        return Ok(Parameter { port: None, is_token: true });
    }
    let Some(tensor) = module.types.stored(ty) else {
        let message =
            format!("the entry function has a parameter of unsupported type {}", module.types.display(ty));
        return Err(Diagnostic::unsupported("SH0703", message)
            .hint("pass tensors in and out of the entry function")
            .into());
    };
    let shape = static_shape(tensor)?;
    let port = Port {
        name,
        layout: ShardLayout::replicated(&shape, 1)?,
        ty: ArrayType { dtype: tensor.dtype, shape },
        is_donated: attrs.is_some_and(|attrs| attrs.donated_to().is_some()),
        memory_kind: None,
        device_layout: None,
    };
    Ok(Parameter { port: Some(port), is_token: false })
}

fn value(input: &Parameter, array: &HostArray) -> Result<Value<Ieee>, Error> {
    if input.is_token { Ok(Value::Token) } else { read(array).map(Value::Array) }
}

/// Converts an array of the host to an array of the interpreter.
fn read(array: &HostArray) -> Result<Array<Ieee>, Error> {
    Ieee::read(&array.shape, array.dtype, &array.data).map_err(array_error)
}

/// Converts a result to an array of the host.
fn host(value: Value<Ieee>) -> Result<HostArray, Error> {
    match value {
        Value::Array(array) => Ok(HostArray::new(array.dtype(), array.dims(), Ieee::write(&array))?),
        Value::Token => Ok(token()),
        Value::Tuple(_) => {
            Err(Diagnostic::unsupported("SH0703", "a result of the entry function is a tuple")
                .hint("return tensors from the entry function")
                .into())
        }
    }
}

/// Assembles an output from the blocks of all devices.
fn gathered(index: usize, layout: &ShardLayout, shards: &[HostArray]) -> Result<HostArray, Error> {
    if let Some(found) = layout.check_replicas(shards)?.filter(|found| !found.is_rounding) {
        return Err(disagreement(index, &found));
    }
    Ok(layout.gather(shards)?)
}
