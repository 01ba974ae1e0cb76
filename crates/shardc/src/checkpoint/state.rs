//! The state of a training step as entries and blocks of a checkpoint.

use indexmap::IndexMap;
use shardc_checkpoint::{Checkpoint, Entry, Fit, Info, Processes, Region, Saved, State as Parts, Store};
use shardc_runtime::ShardedArray;

use crate::Error;
use crate::checkpoint::arrays::{self, Saving};
use crate::exec::Port;
use crate::train::{State, Step};

/// Saves the state of a step at a path of a store. Each replicated block is saved once.
///
/// # Errors
/// The errors of [`parts`] and of [`save_parts`](super::save_parts).
pub fn save(
    store: &Store,
    path: &str,
    step: &Step,
    state: &State,
    info: &Info,
    processes: &dyn Processes,
) -> Result<Saved, Error> {
    let parts = parts(step, state, info, processes)?;
    Ok(shardc_checkpoint::save(store, path, &parts, &reader(state), processes, None)?)
}

/// The entries and blocks of a step's state, for a [`CheckpointManager`](super::CheckpointManager): each variable with the blocks
/// that this process saves. [`reader`] provides their elements.
///
/// # Errors
/// An array is unreduced, the state belongs to another step (SH0720), or is lost (SH0722).
pub fn parts(step: &Step, state: &State, info: &Info, processes: &dyn Processes) -> Result<Parts, Error> {
    step.check_state(state)?;
    let saving: Vec<Saving<'_>> = step
        .variable_ports()
        .filter_map(|(variable, _, of)| {
            let array = state.arrays.get(&variable.name)?;
            let sharding = of.map(|of| arrays::sharding(of.mesh, of.sharding));
            Some(Saving { name: &variable.name, array, sharding })
        })
        .collect();
    arrays::array_parts(&saving, info, processes)
}

/// Reads the blocks of a state from the devices that hold them, one after the other.
pub fn reader(state: &State) -> impl Fn(&Entry, &Region) -> Result<Vec<u8>, String> + Sync + use<'_> {
    arrays::blocks_of(move |name: &str| state.sharded(name))
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
    let found = arrays::restore_arrays(checkpoint, step.client(), placement, &ports, fit)?;
    Ok(ports.into_iter().zip(found).filter_map(|((name, _), array)| Some((name, array?))).collect())
}
