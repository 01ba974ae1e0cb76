//! `shardc checkpoint convert`

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::checkpoint::{
    Alone, Checkpoint, Entry, Info, Region, Slice, Source as _, StateParts, save_parts,
};
use shardc::statedict::{StateDict, Tensor, is_state_dict, open, open_torch, torch};

use crate::args::statedict::ConvertArgs;
use crate::checkpoints::{failure as checkpoint_failure, matches, open as open_checkpoint, split, store};
use crate::failure::usage;
use crate::state_dict::{Destination, Wrapping, failure, write};
use crate::ui::Ui;
use crate::ui::table::bytes;

pub(crate) fn run(args: &ConvertArgs, ui: &Ui) -> Result<ExitCode> {
    let max_shard_size = args.shards.max_shard_size.as_deref();
    let destination = match args.zarr {
        true => None,
        false if args.dcp => Some(Destination::dcp("--output", &args.output)),
        false => Some(Destination::new("--output", &args.output, max_shard_size)?),
    };
    let is_wanted =
        |name: &str| args.only.is_empty() || args.only.iter().any(|pattern| matches(pattern, name));
    let mut info = Info::default();
    let mut dict = match &args.key {
        None if args.input.is_dir() && !is_state_dict(&args.input) => {
            let place = args.input.to_string_lossy();
            let checkpoint = open_checkpoint(&place, &[], None, args.item.as_deref())?;
            info = checkpoint.about();
            whole(&checkpoint, &is_wanted)?
        }
        None => open(&args.input).map_err(failure)?,
        Some(key) if args.input.is_file() && torch::is_torch(&args.input).map_err(failure)? => {
            open_torch(&args.input, Some(key)).map_err(failure)?
        }
        Some(_) => return Err(usage("--key applies only to files of torch.save: leave it out")),
    };
    if !args.only.is_empty() {
        dict = some(&dict, &args.only)?;
    }
    match destination {
        Some(destination) => {
            dict.metadata.entry("format".to_owned()).or_insert_with(|| "pt".to_owned());
            write(&dict, &destination, Wrapping::Nothing, &[("the input", &args.input)], ui)?;
        }
        None => as_checkpoint(&dict, &args.output, info, ui)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the tensors whose names match one of the patterns.
fn some(dict: &StateDict, patterns: &[String]) -> Result<StateDict> {
    let mut found = StateDict::new();
    found.metadata.clone_from(&dict.metadata);
    for (name, tensor) in
        dict.iter().filter(|(name, _)| patterns.iter().any(|pattern| matches(pattern, name)))
    {
        found.insert(name, tensor.clone()).map_err(failure)?;
    }
    match patterns.iter().find(|pattern| !found.names().any(|name| matches(pattern, name))) {
        None => Ok(found),
        Some(pattern) => {
            let names: Vec<&str> = dict.names().take(8).collect();
            Err(usage(format!(
                "--only: no tensor matches {pattern}; the first tensors are {}",
                names.join(", ")
            )))
        }
    }
}

/// Reads the wanted arrays of a checkpoint into memory.
fn whole(checkpoint: &Checkpoint, is_wanted: &dyn Fn(&str) -> bool) -> Result<StateDict> {
    let mut dict = StateDict::new();
    for entry in checkpoint.entries().filter(|entry| is_wanted(&entry.name)) {
        let region = Region { offset: vec![0; entry.shape.len()], shape: entry.shape.clone() };
        let elements = checkpoint.read(&entry.name, &region).map_err(checkpoint_failure)?;
        let tensor = Tensor::from_bytes(entry.dtype, &entry.shape, elements).map_err(failure)?;
        dict.insert(&entry.name, tensor).map_err(failure)?;
    }
    Ok(dict)
}

/// Writes a checkpoint with one block for each tensor, and with few tensors in memory at a time.
fn as_checkpoint(dict: &StateDict, place: &Path, info: Info, ui: &Ui) -> Result<()> {
    let place = place.to_string_lossy();
    let (folder, name) = split(&place)?;
    let entries: Vec<Entry> =
        dict.iter().map(|(name, tensor)| Entry::whole(name, tensor.dtype(), tensor.shape())).collect();
    let blocks = |(number, entry): (usize, &Entry)| {
        entry.blocks().into_iter().map(move |region| Slice { entry: number, region }).collect::<Vec<_>>()
    };
    let slices = entries.iter().enumerate().flat_map(blocks).collect();
    let parts = StateParts { entries, slices, info };
    let read = |entry: &Entry, _: &Region| {
        dict.get(&entry.name).and_then(Tensor::read).map_err(|error| error.to_string())
    };
    let saved =
        save_parts(&store(folder, &[])?, name, &parts, &read, &Alone, None).map_err(checkpoint_failure)?;
    ui.summary(
        || format!("{place}: {} arrays, {}\n", dict.len(), bytes(saved.bytes)),
        || json!({ "place": place, "arrays": dict.len(), "bytes": saved.bytes }),
    );
    Ok(())
}
