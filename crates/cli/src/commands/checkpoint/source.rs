//! Sources of arrays: checkpoints and state dicts.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::checkpoint::{Checkpoint, CheckpointError, Entry, Region, Source};
use shardc::statedict::{StateDict, StateDictError, is_state_dict, open};

use crate::checkpoints;
use crate::state_dict::failure;
use crate::ui::Ui;

/// An open source of arrays.
pub(super) enum Opened {
    Checkpoint(Box<Checkpoint>),
    Dict(Dict),
}

/// A state dict and its location.
pub(super) struct Dict {
    place: String,
    dict: StateDict,
}

impl Opened {
    /// Opens a checkpoint, a step in a folder, an item of either, or a state dict in a file or a folder.
    pub(super) fn new(
        place: &str,
        options: &[(String, String)],
        step: Option<u64>,
        item: Option<&str>,
    ) -> Result<Opened> {
        if step.is_none() && item.is_none() && is_state_dict(place.as_ref()) {
            let dict = open(place.as_ref()).map_err(failure)?;
            return Ok(Opened::Dict(Dict { place: place.to_owned(), dict }));
        }
        Ok(Opened::Checkpoint(Box::new(checkpoints::open(place, options, step, item)?)))
    }

    pub(super) fn source(&self) -> &dyn Source {
        match self {
            Opened::Checkpoint(checkpoint) => &**checkpoint,
            Opened::Dict(dict) => dict,
        }
    }

    pub(super) fn place(&self) -> String {
        match self {
            Opened::Checkpoint(checkpoint) => checkpoint.place(),
            Opened::Dict(dict) => dict.place.clone(),
        }
    }

    pub(super) fn processes(&self) -> Option<usize> {
        match self {
            Opened::Checkpoint(checkpoint) => checkpoint.processes(),
            Opened::Dict(_) => None,
        }
    }

    /// Describes the writer of the arrays.
    pub(super) fn origin(&self) -> String {
        match (self, self.processes()) {
            (Opened::Dict(_), _) => "a state dict".to_owned(),
            (Opened::Checkpoint(_), None) => "saved by Orbax".to_owned(),
            (Opened::Checkpoint(_), Some(1)) => "saved by 1 process".to_owned(),
            (Opened::Checkpoint(_), Some(n)) => format!("saved by {n} processes"),
        }
    }
}

impl Source for Dict {
    fn arrays(&self) -> Vec<Entry> {
        let entry = |(name, tensor): (&str, &shardc::statedict::Tensor)| {
            Entry::whole(name, tensor.dtype(), tensor.shape())
        };
        self.dict.iter().map(entry).collect()
    }

    fn region(&self, name: &str, region: &Region) -> Result<Vec<u8>, CheckpointError> {
        let bounds: Vec<_> =
            region.offset.iter().zip(&region.shape).map(|(&from, &n)| from..from + n).collect();
        let read = self.dict.get(name).and_then(|tensor| tensor.read_slice(&bounds));
        read.map_err(|error| CheckpointError::Values { entry: name.to_owned(), reason: error.to_string() })
    }
}

/// The size of an array in bytes.
pub(super) fn bytes(entry: &Entry) -> u64 {
    entry.shape.iter().fold(entry.dtype.bytes() as u64, |bytes, &n| bytes * n as u64)
}

/// Verifies a state dict by reading every tensor, since its formats have no checksums of tensors.
pub(super) fn verify(place: &str, ui: &Ui) -> Result<ExitCode> {
    let mut faults: Vec<StateDictError> = Vec::new();
    match open(place.as_ref()) {
        Err(error) => faults.push(error),
        Ok(dict) => {
            faults.extend(dict.iter().filter_map(|(_, tensor)| tensor.for_each_chunk(&mut |_| Ok(())).err()))
        }
    }
    let text = || match faults.as_slice() {
        [] => format!("{place}: all tensors can be read; the format has no checksums\n"),
        _ => faults.iter().map(|fault| format!("{fault}\n")).collect(),
    };
    ui.result(text, || {
        let damage = |fault: &StateDictError| json!({ "array": fault.tensor(), "object": fault.path(), "what": fault.to_string() });
        let damages: Vec<_> = faults.iter().map(damage).collect();
        json!({ "version": 1, "checkpoints": [{ "place": place, "damages": damages }] })
    })?;
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
