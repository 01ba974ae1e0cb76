//! Running programs through PJRT, and comparing a partitioned program with the one that it came from.

use std::borrow::Cow;

use shardc_ir::{DType, Module, OpKind, SpmdMode, TensorType};
use shardc_mlir::LowerOptions;
use shardc_passes::expand::{expand, is_needed};
use shardc_passes::gspmd::{import_gspmd, is_annotated};
use shardc_passes::inline::inline_calls;
use shardc_passes::manual::unroll_manual;
use shardc_passes::partition::{Interface, InterfaceTensor};
use shardc_runtime::{
    Client, CompileOptions, Difference, HostArray, LoadedExecutable, RuntimeError, ShardLayout,
};

use crate::widen::{self, widen, widen_array};
use crate::{Error, Output};

/// Which block of an array each device holds.
///
/// # Errors
/// A dimension is not known at compile time.
pub fn layout(interface: &Interface, tensor: &InterfaceTensor) -> Result<ShardLayout, Error> {
    let mesh = interface.mesh_of(tensor);
    let devices = mesh.num_devices();
    let shape = static_shape(&tensor.global)?;
    let shards: Vec<usize> = tensor.sharding.dims.iter().map(|d| mesh.axes_size(&d.axes) as usize).collect();
    let mut blocks = vec![Vec::new(); devices];
    for position in 0..devices {
        let block =
            tensor.sharding.dims.iter().map(|d| mesh.linear_coordinate(position, &d.axes) as usize).collect();
        if let Some(slot) = usize::try_from(mesh.device_at(position)).ok().and_then(|d| blocks.get_mut(d)) {
            *slot = block;
        }
    }
    Ok(ShardLayout::new(&shape, &shards, blocks)?)
}

fn static_shape(ty: &TensorType) -> Result<Vec<usize>, Error> {
    ty.shape.iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>().map_err(|_| {
        shardc_ir::Diagnostic::unsupported("SH0701", format!("{ty} has a size that is not known"))
            .hint("run a program whose entry function has static shapes")
            .into()
    })
}

/// A program compiled for the devices of a client.
#[derive(Debug)]
pub struct Program {
    executable: LoadedExecutable,
    layouts: Option<(Vec<ShardLayout>, Vec<ShardLayout>)>,
}

impl Program {
    /// Compiles a module for one device, its annotations ignored. A manual computation is written out for each of its
    /// coordinates, with arithmetic in place of collectives.
    ///
    /// # Errors
    /// The back end refuses it, or a manual computation has no such form.
    pub fn single(client: &Client, module: &Module) -> Result<Program, Error> {
        let options = LowerOptions { spmd_mode: SpmdMode::Replica, locations: false, num_devices: Some(1) };
        // Calls that stand for shardings mean nothing to a back end; as constraints they go.
        let mut plain = Cow::Borrowed(module);
        if is_annotated(module) {
            let mut read = module.clone();
            if import_gspmd(&mut read, None).is_ok() {
                plain = Cow::Owned(read);
            }
        }
        if has_manual(&plain) {
            let module = plain.to_mut();
            inline_calls(module)?;
            if let Some(entry) = module.entry() {
                unroll_manual(module, entry)?;
            }
        }
        for body in module.bodies().filter(|&body| is_needed(module, body)).collect::<Vec<_>>() {
            expand(plain.to_mut(), body);
        }
        let code = shardc_mlir::to_bytecode(&plain, &options)?;
        let executable = client.compile(&code, &CompileOptions::replicas(1))?;
        Ok(Program { executable, layouts: None })
    }

    /// Compiles a partitioned program for all its devices.
    ///
    /// # Errors
    /// The back end refuses it, or the client has too few devices.
    pub fn partitioned(client: &Client, output: &Output) -> Result<Program, Error> {
        let code = output.bytecode()?;
        let n = output.manifest.num_devices;
        let executable = client.compile(&code, &compile_options(output.interface.mode, n))?;
        let layouts = |list: &[InterfaceTensor]| {
            list.iter().map(|t| layout(&output.interface, t)).collect::<Result<Vec<_>, Error>>()
        };
        Ok(Program {
            executable,
            layouts: Some((layouts(&output.interface.inputs)?, layouts(&output.interface.outputs)?)),
        })
    }

    /// Runs the program on whole arrays: splits the inputs over the devices, runs them all, puts the outputs together.
    ///
    /// # Errors
    /// An input does not fit, the run fails, or devices that hold the same block disagree on it.
    pub fn run(&self, client: &Client, inputs: &[HostArray]) -> Result<Vec<HostArray>, Error> {
        let devices = self.executable.devices().to_vec();
        let mut arguments = Vec::with_capacity(devices.len());
        for (d, device) in devices.iter().enumerate() {
            let buffers = inputs
                .iter()
                .enumerate()
                .map(|(i, array)| match self.layouts.as_ref().and_then(|(inputs, _)| inputs.get(i)) {
                    Some(layout) => client.buffer_from_host(&layout.shard(array, d)?, device),
                    None => client.buffer_from_host(array, device),
                })
                .collect::<Result<Vec<_>, RuntimeError>>()?;
            arguments.push(buffers);
        }
        let results = self.executable.execute(&arguments)?;
        let count = results.first().map_or(0, Vec::len);
        let mut outputs = Vec::with_capacity(count);
        for o in 0..count {
            let shards =
                results.iter().map(|device| device[o].to_host()).collect::<Result<Vec<_>, RuntimeError>>()?;
            match self.layouts.as_ref().and_then(|(_, outputs)| outputs.get(o)) {
                Some(layout) => {
                    if let Some(disagreement) = layout.check_replicas(&shards)? {
                        return Err(shardc_ir::Diagnostic::internal(
                            "SH0790",
                            format!(
                                "devices disagree on a block of output {o} that they share: {disagreement:?}"
                            ),
                        )
                        .into());
                    }
                    outputs.push(layout.gather(&shards)?);
                }
                None => outputs.extend(shards.into_iter().next()),
            }
        }
        Ok(outputs)
    }

    /// What was compiled.
    #[must_use]
    pub fn executable(&self) -> &LoadedExecutable {
        &self.executable
    }
}

fn has_manual(module: &Module) -> bool {
    module.ops.values().any(|op| matches!(op.kind, OpKind::ManualComputation(_)))
}

/// How a partitioned program is compiled for `devices` devices.
#[must_use]
pub fn compile_options(mode: SpmdMode, devices: usize) -> CompileOptions {
    match mode {
        SpmdMode::Replica => CompileOptions::replicas(devices),
        SpmdMode::Partition => CompileOptions::partitions(devices),
    }
}

/// Seeded inputs for the parameters of a program: floats from 0.25 to 0.75, integers from 0 to 3, both truth values.
///
/// # Errors
/// A size that is not known, or too large for this machine.
pub fn random_inputs(interface: &Interface, seed: u64) -> Result<Vec<HostArray>, Error> {
    interface
        .inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let shape = static_shape(&t.global)?;
            Ok(HostArray::random(seed.wrapping_add(i as u64), t.global.dtype, &shape)?)
        })
        .collect()
}

/// How one output of the partitioned program compares with the single-device one.
#[derive(Clone, Debug)]
pub struct OutputCheck {
    /// Which output.
    pub index: usize,
    /// Its name, where the program gives one.
    pub name: Option<String>,
    /// Its type.
    pub ty: TensorType,
    /// How far it is off.
    pub difference: Difference,
    /// How far it may be off, relative to the largest value.
    pub tolerance: f64,
    /// How far it is off where both programs are run in double precision; only where it is further off than it may be,
    /// and both can be.
    pub in_double: Option<Difference>,
}

/// How far two orders of the same sums may be apart in double precision.
const DOUBLE: f64 = 1e-9;

/// What double precision leaves of a difference that is rounding, at most. Usually it is some `2^-29` of one in single
/// precision; where an optimiser divides a gradient that would be zero by its own size, 2e-5 was seen. Of a fault, all is
/// left. Values that are nothing but rounding are far apart in any precision, relative to themselves.
const LEFT_OF_ROUNDING: f64 = 1e-4;

impl OutputCheck {
    /// Whether the output is right.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.difference.within(self.tolerance) || self.is_rounding()
    }

    /// Whether it is off because the program makes much of little differences: the same programs agree in double
    /// precision, or what they differ by all but vanishes.
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        let vanishes =
            |d: Difference| d.mismatches == 0 && d.max_abs <= LEFT_OF_ROUNDING * self.difference.max_abs;
        !self.difference.within(self.tolerance)
            && self.in_double.is_some_and(|d| d.within(DOUBLE) || vanishes(d))
    }
}

/// Runs `original` on one device and `output`, which it was partitioned into, on all of them, with the same seeded
/// inputs, and compares every output. Where one differs, both are run again in double precision, which tells rounding
/// from a fault.
///
/// # Errors
/// Either program does not compile or run.
pub fn verify(
    client: &Client,
    original: &Module,
    output: &Output,
    seed: u64,
) -> Result<Vec<OutputCheck>, Error> {
    let inputs = random_inputs(&output.interface, seed)?;
    let expected = Program::single(client, original)?.run(client, &inputs)?;
    verify_against(client, original, output, &inputs, &expected)
}

/// As [`verify`], where the single-device outputs for some inputs are known already.
///
/// # Errors
/// The partitioned program does not compile or run.
pub fn verify_against(
    client: &Client,
    original: &Module,
    output: &Output,
    inputs: &[HostArray],
    expected: &[HostArray],
) -> Result<Vec<OutputCheck>, Error> {
    let got = Program::partitioned(client, output)?.run(client, inputs)?;
    let coarsest = original
        .values
        .values()
        .filter_map(|v| original.types.as_tensor(v.ty))
        .map(|t| rounding(t.dtype))
        .fold(0.0, f64::max);
    let outputs = output.interface.outputs.iter().zip(expected.iter().zip(&got)).enumerate();
    let mut checks: Vec<OutputCheck> = outputs
        .map(|(index, (tensor, (expected, got)))| {
            Ok(OutputCheck {
                index,
                name: tensor.name.clone(),
                ty: tensor.global.clone(),
                difference: HostArray::compare(expected, got)?,
                tolerance: match tensor.global.dtype {
                    dtype if dtype.is_float() || matches!(dtype, DType::C64 | DType::C128) => {
                        // A program that computes in a narrow type is only that exact, whatever it returns.
                        let narrow = if coarsest > rounding(DType::F32) { coarsest } else { 0.0 };
                        rounding(dtype).max(narrow)
                    }
                    _ => 0.0,
                },
                in_double: None,
            })
        })
        .collect::<Result<_, Error>>()?;
    if checks.iter().any(|check| !check.ok())
        && let Some(differences) = in_double(client, original, output, inputs)
    {
        for (check, difference) in checks.iter_mut().zip(differences) {
            check.in_double = Some(difference).filter(|_| !check.ok());
        }
    }
    Ok(checks)
}

/// How far the outputs are off in double precision, if both programs can be run so.
fn in_double(
    client: &Client,
    original: &Module,
    output: &Output,
    inputs: &[HostArray],
) -> Option<Vec<Difference>> {
    let inputs: Vec<HostArray> = inputs.iter().map(widen_array).collect::<Option<_>>()?;
    let expected = Program::single(client, &widen(original)?).and_then(|p| p.run(client, &inputs)).ok()?;
    let mut wide = Output { module: widen(&output.module)?, ..output.clone() };
    for tensor in wide.interface.inputs.iter_mut().chain(&mut wide.interface.outputs) {
        tensor.global.dtype = widen::wide(tensor.global.dtype);
    }
    let got = Program::partitioned(client, &wide).and_then(|p| p.run(client, &inputs)).ok()?;
    expected.iter().zip(&got).map(|(expected, got)| HostArray::compare(expected, got).ok()).collect()
}

/// How far two orders of the same sums may be apart, relative to the largest value.
fn rounding(dtype: DType) -> f64 {
    match (dtype, dtype.is_float(), dtype.bits()) {
        (DType::F64 | DType::C128, ..) => 1e-9,
        (DType::C64, ..) => 1e-3,
        (_, false, _) => 0.0,
        (_, true, 0..=8) => 2e-1,
        (_, true, 9..=16) => 4e-2,
        (_, true, _) => 1e-3,
    }
}
