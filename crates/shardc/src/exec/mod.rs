//! Running programs through PJRT, and comparing a partitioned program with the one that it came from.

use std::borrow::Cow;

use shardc_ir::{Module, OpKind, SpmdMode, TensorType};
use shardc_passes::expand::{expand, is_needed};
use shardc_passes::gspmd::{import_gspmd, is_annotated};
use shardc_passes::inline::inline_calls;
use shardc_passes::manual::unroll_manual;
use shardc_passes::partition::{Interface, InterfaceTensor};
use shardc_runtime::{Client, CompileOptions, HostArray, LoadedExecutable, RuntimeError, ShardLayout};

use crate::backend::{self, BackendOptions};
use crate::{Error, Output};

mod check;

pub use self::check::{InDouble, OutputCheck, verify, verify_against};

/// Which block of an array each device holds.
///
/// # Errors
/// A dimension is not known at compile time (SH0701), or it is a token (SH0702).
pub fn layout(interface: &Interface, tensor: &InterfaceTensor) -> Result<ShardLayout, Error> {
    no_token(tensor)?;
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

/// Refuses what no array of the host can stand for.
fn no_token(tensor: &InterfaceTensor) -> Result<(), Error> {
    if !tensor.is_token {
        return Ok(());
    }
    let message = "the program takes or gives a token, which no array of the host can stand for";
    Err(shardc_ir::Diagnostic::unsupported("SH0702", message)
        .hint("partition it for the front end that made it, or make the callback unordered to run it here")
        .into())
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
        let options = BackendOptions { spmd_mode: SpmdMode::Replica, num_devices: Some(1) };
        let code = backend::code(&plain, &options)?;
        let executable = client.compile(&code, &CompileOptions::replicas(1))?;
        Ok(Program { executable, layouts: None })
    }

    /// Compiles a partitioned program for all its devices.
    ///
    /// # Errors
    /// The back end refuses it, or the client has too few devices.
    pub fn partitioned(client: &Client, output: &Output) -> Result<Program, Error> {
        let code = output.backend_code()?;
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
/// A size that is not known, or too large for this machine; a token (SH0702).
pub fn random_inputs(interface: &Interface, seed: u64) -> Result<Vec<HostArray>, Error> {
    interface
        .inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            no_token(t)?;
            let shape = static_shape(&t.global)?;
            Ok(HostArray::random(seed.wrapping_add(i as u64), t.global.dtype, &shape)?)
        })
        .collect()
}
