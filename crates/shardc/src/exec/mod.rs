//! Runs programs through PJRT or in the interpreter, and compares a partitioned program with its original.
//!
//! [`Program::run`] takes and returns full arrays. A training loop keeps its state on the devices:
//!
//! ```
//! use shardc::exec::{Program, random_inputs};
//! use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
//! use shardc::{Compiler, Error};
//!
//! # fn main() -> Result<(), Error> {
//! // A step of gradient descent towards w = 3, sharded over four devices.
//! let step = br#"
//!   sdy.mesh @mesh = <["data"=4]>
//!   func.func @main(%w: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>, tf.aliasing_output = 0 : i32})
//!       -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
//!     %three = stablehlo.constant dense<3.0> : tensor<8xf32>
//!     %rate = stablehlo.constant dense<0.5> : tensor<8xf32>
//!     %error = stablehlo.subtract %three, %w : tensor<8xf32>
//!     %change = stablehlo.multiply %rate, %error : tensor<8xf32>
//!     %next = stablehlo.add %w, %change : tensor<8xf32>
//!     return %next : tensor<8xf32>
//!   }
//! "#;
//! let output = Compiler::new().partition(step)?;
//! # let found = match plugin::find(PluginKind::Cpu, &Environment::from_process()) {
//! #     Ok(found) => found,
//! #     Err(_) => return Ok(()),
//! # };
//! # let plugin = Plugin::load(&found.path)?;
//! let client = Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) })?;
//! let program = Program::partitioned(&client, &output)?;
//!
//! let mut state = program.put(&client, &random_inputs(&output.interface, 0)?)?;
//! for _ in 0..30 {
//!     state = program.step_donating(state)?;
//! }
//! assert_eq!(state[0].to_host()?.to_f64_vec(), [3.0; 8]);
//! # Ok(())
//! # }
//! ```
//!
//! If a step takes arguments that it does not return, such as a batch, append them to the state: `program.step(&[&state[..],
//! &batch[..]].concat())`.

use shardc_ir::{SpmdMode, TensorType};
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};
use shardc_passes::transforms::legalize_backend::Backend;
use shardc_runtime::{CompileOptions, HostArray, PluginKind, ShardLayout};

use crate::Error;

mod assumptions;
mod check;
mod disagreement;
mod engine;
mod exact;
mod finite;
mod interpreter;
mod limits;
mod program;

pub use self::assumptions::assumptions;
pub use self::check::{InDouble, OutputCheck, verify, verify_against, verify_on, verify_within, widened};
pub use self::disagreement::{attribute_disagreement, disagreement};
pub use self::engine::{Engine, Runnable};
pub use self::exact::{
    ExactCheck, chance_between, chance_of_missed_difference, compare_exactly, verify_exactly,
};
pub use self::finite::not_finite;
pub use self::interpreter::Interpreted;
pub use self::limits::{Limits, run_need};
pub use self::program::{Port, Program};

/// The block of an array, or of a partial sum, that each device holds.
///
/// # Errors
/// A dimension is dynamic (SH0701), or the tensor is a token (SH0702).
pub fn layout(interface: &Interface, tensor: &InterfaceTensor) -> Result<ShardLayout, Error> {
    no_token(tensor)?;
    let mesh = interface.mesh_of(tensor);
    let devices = mesh.num_devices();
    let shape = static_shape(&tensor.global)?;
    let shards: Vec<usize> = tensor.sharding.dims.iter().map(|d| mesh.axes_size(&d.axes) as usize).collect();
    let (mut blocks, mut addends) = (vec![Vec::new(); devices], vec![0; devices]);
    for position in 0..devices {
        let block =
            tensor.sharding.dims.iter().map(|d| mesh.linear_coordinate(position, &d.axes) as usize).collect();
        let addend = mesh.linear_coordinate(position, &tensor.sharding.unreduced) as usize;
        if let Some(device) = usize::try_from(mesh.device_at(position)).ok().filter(|&d| d < devices) {
            (blocks[device], addends[device]) = (block, addend);
        }
    }
    let layout = ShardLayout::new(&shape, &shards, blocks)?;
    if tensor.sharding.unreduced.is_empty() {
        return Ok(layout);
    }
    Ok(layout.with_addends(addends, tensor.sharding.reduction)?)
}

/// Rejects a token, which host arrays cannot represent.
fn no_token(tensor: &InterfaceTensor) -> Result<(), Error> {
    if !tensor.is_token {
        return Ok(());
    }
    let message = "an argument or result of the program is a token, which a host array cannot represent";
    Err(shardc_ir::Diagnostic::unsupported("SH0702", message)
        .hint("run the partitioned program in the front end that produced it, or make the callback unordered")
        .into())
}

fn static_shape(ty: &TensorType) -> Result<Vec<usize>, Error> {
    ty.shape.iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>().map_err(|_| {
        shardc_ir::Diagnostic::unsupported("SH0701", format!("{ty} has an unknown size"))
            .hint("run a program whose entry function has static shapes")
            .into()
    })
}

/// The XLA compiler of a plugin kind.
#[must_use]
pub fn backend_for(kind: PluginKind) -> Backend {
    match kind {
        PluginKind::Cpu => Backend::Cpu,
        PluginKind::Cuda => Backend::Gpu,
        PluginKind::Tpu => Backend::Tpu,
    }
}

/// The compile options of a partitioned program for `devices` devices.
#[must_use]
pub fn compile_options(mode: SpmdMode, devices: usize) -> CompileOptions {
    match mode {
        SpmdMode::Replica => CompileOptions::replicas(devices),
        SpmdMode::Partition => CompileOptions::partitions(devices),
    }
}

/// Seeded inputs for the parameters of a program: floats from 0.25 to 0.75, integers from 0 to 3, and booleans.
///
/// # Errors
/// A size is unknown or too large for this machine, or an input is a token (SH0702).
pub fn random_inputs(interface: &Interface, seed: u64) -> Result<Vec<HostArray>, Error> {
    interface
        .inputs
        .iter()
        .enumerate()
        .map(|(i, tensor)| {
            no_token(tensor)?;
            random_input(tensor, seed.wrapping_add(i as u64))
        })
        .collect()
}

fn random_input(tensor: &InterfaceTensor, seed: u64) -> Result<HostArray, Error> {
    Ok(HostArray::random(seed, tensor.global.dtype, &static_shape(&tensor.global)?)?)
}
