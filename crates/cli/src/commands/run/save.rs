//! The target of `--save`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde_json::json;
use shardc::Interface;
use shardc::checkpoint::{
    self, Alone, Checkpoint, CheckpointError, Entry, Info, Job, Region, Saved, Saving, Slice, StateParts,
    Store, Tree, array_parts, blocks_of, save_parts,
};
use shardc::runtime::{HostArray, Processes, ShardedArray};
use shardc::statedict::{StateDict, Tensor};

use super::{gathered, names};
use crate::args::StateArgs;
use crate::checkpoints::{failure, options, split, store};
use crate::failure::Failure;
use crate::state_dict::{self, Destination, Wrapping};
use crate::ui::Ui;
use crate::ui::table::bytes;

/// Extensions of files that are not checkpoints.
const FILES: [&str; 5] = ["safetensors", "pth", "pt", "bin", "ckpt"];

/// The target to which results are saved.
pub(super) enum Target {
    File(Destination),
    Checkpoint { store: Store, name: String, place: String },
}

/// Parses the target of `--save`.
///
/// # Errors
/// A checkpoint already exists (SH1306), the store does not respond (SH1301), or the location is invalid.
pub(super) fn target(place: &str, args: &StateArgs) -> Result<Target> {
    let path = Path::new(place);
    if path.extension().is_some_and(|ending| FILES.iter().any(|file| ending == *file)) {
        return Ok(Target::File(Destination::new("--save", path, None)?));
    }
    let (folder, name) = split(place)?;
    let store = store(folder, &options(&args.store.options)?)?;
    match Checkpoint::open(&store, name) {
        Err(CheckpointError::NotFound { .. }) => {
            Ok(Target::Checkpoint { store, name: name.to_owned(), place: place.to_owned() })
        }
        // If the store fails, it is unknown whether a checkpoint exists.
        Err(error @ CheckpointError::Store { .. }) => Err(failure(error)),
        // Damaged and unsupported checkpoints also count as existing.
        Ok(_) | Err(_) => Err(failure(CheckpointError::Exists { path: place.to_owned() })),
    }
}

/// Returns the metadata of a checkpoint: its step, which is counted from the loaded step, and the pytree. The loaded pytree is preferred,
/// since it has more information than names.
pub(super) fn info(
    loaded: Option<u64>,
    steps: usize,
    loaded_tree: Option<&Tree>,
    interface: &Interface,
) -> Info {
    let inputs = interface.inputs.iter().filter_map(|input| input.name.as_deref());
    let outputs = interface.outputs.iter().filter_map(|output| output.name.as_deref());
    let mut tree = Tree::of_paths(inputs.chain(outputs));
    tree.leaves.extend(loaded_tree.iter().flat_map(|tree| tree.leaves.iter().cloned()));
    Info { step: Some(loaded.unwrap_or(0) + steps as u64), tree: Some(tree), ..Info::default() }
}

/// Saves the results by name. In a job of several processes, all of them must call this function.
pub(super) fn save(
    target: &Target,
    interface: &Interface,
    outputs: &[ShardedArray],
    info: &Info,
    processes: Option<&Processes>,
    ui: &Ui,
) -> Result<()> {
    let names = names::results(interface);
    match target {
        Target::File(destination) => {
            let gathered = outputs.iter().enumerate().map(|(i, array)| gathered(i, array, processes));
            let arrays = gathered.collect::<Result<_, _>>().map_err(|e| Failure::of(&e, "--save", ""))?;
            let dict = dict(&names, arrays)?;
            if processes.is_none_or(|processes| processes.index() == 0) {
                state_dict::write(&dict, destination, Wrapping::Nothing, &[], ui)?;
            }
        }
        Target::Checkpoint { store, name, place } => {
            let saving: Vec<Saving<'_>> = names
                .iter()
                .zip(outputs)
                .zip(&interface.outputs)
                .map(|((name, array), tensor)| Saving {
                    name,
                    array,
                    sharding: Some(checkpoint::sharding_of(interface, tensor)),
                })
                .collect();
            let job: Box<dyn checkpoint::Processes> = match processes {
                Some(processes) => Box::new(Job::new(processes.clone())),
                None => Box::new(Alone),
            };
            let parts = array_parts(&saving, info, &*job).map_err(|e| Failure::of(&e, "--save", ""))?;
            let by_name: BTreeMap<&str, &ShardedArray> =
                saving.iter().map(|saving| (saving.name, saving.array)).collect();
            let read = blocks_of(|name: &str| by_name.get(name).copied());
            let saved = save_parts(store, name, &parts, &read, &*job, None).map_err(failure)?;
            summary(place, names.len(), saved, info, ui);
        }
    }
    Ok(())
}

/// Saves results on the host by name. Each array is one block of a checkpoint.
pub(super) fn save_from_host(
    target: &Target,
    interface: &Interface,
    outputs: Vec<HostArray>,
    info: &Info,
    ui: &Ui,
) -> Result<()> {
    let names = names::results(interface);
    match target {
        Target::File(destination) => {
            state_dict::write(&dict(&names, outputs)?, destination, Wrapping::Nothing, &[], ui)
        }
        Target::Checkpoint { store, name, place } => {
            let mut parts = StateParts { info: info.clone(), ..StateParts::default() };
            for (i, (name, array)) in names.iter().zip(&outputs).enumerate() {
                let sharding = Some(checkpoint::sharding_of(interface, &interface.outputs[i]));
                parts.entries.push(Entry { sharding, ..Entry::whole(name, array.dtype, &array.shape) });
                parts.slices.push(Slice { entry: i, region: Region::whole(&array.shape) });
            }
            let by_name: BTreeMap<&str, &HostArray> =
                names.iter().map(String::as_str).zip(&outputs).collect();
            let read = |entry: &Entry, _: &Region| {
                let array = by_name.get(entry.name.as_str()).ok_or("there is no such result")?;
                Ok(array.data.clone())
            };
            let saved = save_parts(store, name, &parts, &read, &Alone, None).map_err(failure)?;
            summary(place, names.len(), saved, info, ui);
            Ok(())
        }
    }
}

/// A state dict of results.
fn dict(names: &[String], arrays: Vec<HostArray>) -> Result<StateDict> {
    let mut dict = StateDict::new();
    for (name, array) in names.iter().zip(arrays) {
        let tensor = Tensor::from_bytes(array.dtype, &array.shape, array.data);
        dict.insert(name, tensor.map_err(state_dict::failure)?).map_err(state_dict::failure)?;
    }
    dict.metadata.insert("format".to_owned(), "pt".to_owned());
    Ok(dict)
}

/// Prints what was written to a checkpoint.
fn summary(place: &str, arrays: usize, saved: Saved, info: &Info, ui: &Ui) {
    ui.summary(
        || format!("{place}: {arrays} arrays, {} written by this process\n", bytes(saved.bytes)),
        || json!({ "place": place, "arrays": arrays, "bytes": saved.bytes, "step": info.step }),
    );
}
