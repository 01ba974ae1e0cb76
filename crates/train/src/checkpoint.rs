//! Saves the state of a training step as a sharded checkpoint ([`shardc::checkpoint`]), and restores it.
//!
//! ```
//! use shardc::checkpoint::{Alone, Checkpoint, Fit, Info, Store};
//! use shardc::graph::{DType::F32, Graph, Mesh, spec};
//! use shardc::{Compiler, Error};
//! use shardc_train::nn::{Init, Scope};
//! use shardc_train::{HostArray, Step, checkpoint};
//! # use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
//!
//! fn step(client: &shardc::runtime::Client, devices: i64) -> Result<Step, Error> {
//!     let g = Graph::new("step", &Mesh::new(&[("data", devices)])?);
//!     let p = Scope::new(&g);
//!     let w = p.parameter("w", [6], Init::normal(1.0)).mark_sharding(spec!["data"]);
//!     p.set("w", 2 * w);
//!     Step::compile(client, &Compiler::new(), p.finish(&[("sum", w.sum(..))])?)
//! }
//!
//! # fn main() -> Result<(), Error> {
//! # let Ok(found) = plugin::find(PluginKind::Cpu, &Environment::from_process()) else { return Ok(()) };
//! # let plugin = Plugin::load(&found.path)?;
//! # let client = Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) })?;
//! let four = step(&client, 4)?;
//! let mut state = four.init(0)?;
//! four.run::<&HostArray>(&mut state, &[])?;
//!
//! let store = Store::memory()?;
//! let info = Info { step: Some(1), ..Info::default() };
//! checkpoint::save(&store, "run/1", &four, &state, &info, &Alone)?;
//!
//! // Restores onto two devices, whose blocks differ from those of the four devices.
//! let two = step(&client, 2)?;
//! let restored = checkpoint::restore(&Checkpoint::open(&store, "run/1")?, &two, &Fit::default())?;
//! assert_eq!(restored.get("w")?, state.get("w")?);
//! # Ok(())
//! # }
//! ```

use indexmap::IndexMap;
use shardc::Error;
use shardc::checkpoint::{
    Checkpoint, Entry, Fit, Info, Processes, Region, Saved, Saving, StateParts, Store, array_parts,
    blocks_of, restore_arrays, save_parts, sharding_of,
};
use shardc::exec::Port;
use shardc_runtime::ShardedArray;

use crate::{State, Step};

/// Saves the state of a step at a path of a store. Each replicated block is saved once.
///
/// # Errors
/// The errors of [`parts`] and of [`save_parts`].
pub fn save(
    store: &Store,
    path: &str,
    step: &Step,
    state: &State,
    info: &Info,
    processes: &dyn Processes,
) -> Result<Saved, Error> {
    let parts = parts(step, state, info, processes)?;
    Ok(save_parts(store, path, &parts, &reader(state), processes, None)?)
}

/// The entries and blocks of a step's state, for a [`CheckpointManager`](shardc::checkpoint::CheckpointManager): each variable with the blocks
/// that this process saves. [`reader`] provides their elements.
///
/// # Errors
/// An array is unreduced, the state belongs to another step (SH0720), or is lost (SH0722).
pub fn parts(
    step: &Step,
    state: &State,
    info: &Info,
    processes: &dyn Processes,
) -> Result<StateParts, Error> {
    step.check_state(state)?;
    let saving: Vec<Saving<'_>> = step
        .variable_ports()
        .filter_map(|(variable, _, of)| {
            let array = state.arrays.get(&variable.name)?;
            let sharding = of.map(|(interface, tensor)| sharding_of(interface, tensor));
            Some(Saving { name: &variable.name, array, sharding })
        })
        .collect();
    array_parts(&saving, info, processes)
}

/// Reads the blocks of a state from the devices that hold them, one after the other.
pub fn reader(state: &State) -> impl Fn(&Entry, &Region) -> Result<Vec<u8>, String> + Sync + use<'_> {
    blocks_of(move |name: &str| state.sharded(name))
}

/// Restores the state of a step from a checkpoint, with the step's sharding, regardless of the sharding with which it was saved. Each block
/// is read once and copied to all devices that hold it.
///
/// # Errors
/// The variables do not match the checkpoint, or the checkpoint lacks some (SH1309 lists all mismatches); or an error of
/// [`Checkpoint::restore`].
pub fn restore(checkpoint: &Checkpoint, step: &Step, fit: &Fit) -> Result<State, Error> {
    let strict = Fit { may_lack: false, ..fit.clone() };
    Ok(State { arrays: read(checkpoint, step, &strict)?, processes: step.processes() })
}

/// Replaces variables of a state by those of a checkpoint. Variables that the checkpoint lacks stay unchanged, if `fit` allows it.
///
/// # Errors
/// The errors of [`restore`]; the state is then unchanged.
pub fn restore_into(checkpoint: &Checkpoint, step: &Step, state: &mut State, fit: &Fit) -> Result<(), Error> {
    for (name, array) in read(checkpoint, step, fit)? {
        state.arrays.insert(name, array);
    }
    Ok(())
}

/// Reads the shards of this process's devices for each variable that the checkpoint contains.
fn read(checkpoint: &Checkpoint, step: &Step, fit: &Fit) -> Result<IndexMap<String, ShardedArray>, Error> {
    let placement = step.program().executable().placement();
    let ports: Vec<(String, &Port)> =
        step.variable_ports().map(|(variable, port, _)| (variable.name.clone(), port)).collect();
    let found = restore_arrays(checkpoint, step.client(), placement, &ports, fit)?;
    Ok(ports.into_iter().zip(found).filter_map(|((name, _), array)| Some((name, array?))).collect())
}
