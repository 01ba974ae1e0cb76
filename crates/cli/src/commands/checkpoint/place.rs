//! Checkpoints by the names that are given on the command line.

use anyhow::Result;
use shardc::checkpoint::{Checkpoint, CheckpointError, Store, steps};

use super::failure;
use crate::failure::usage;

/// Options of a store: `KEY=VALUE`.
pub(super) fn options(given: &[String]) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(usage(format!("--store-option: {text} is not KEY=VALUE"))),
    };
    given.iter().map(pair).collect()
}

/// The store whose root is this place.
pub(super) fn store(place: &str, options: &[(String, String)]) -> Result<Store> {
    Store::open(place, options).map_err(|error| usage(error.to_string()))
}

/// The checkpoint at a place; of a folder of steps the one that is asked for, or the last.
pub(super) fn open(place: &str, options: &[(String, String)], step: Option<u64>) -> Result<Checkpoint> {
    try_open(place, options, step)?.map_err(failure)
}

/// The same, with what is wrong with the checkpoint itself as the inner result.
pub(super) fn try_open(
    place: &str,
    options: &[(String, String)],
    step: Option<u64>,
) -> Result<Result<Checkpoint, CheckpointError>> {
    let store = store(place, options)?;
    if let Some(step) = step {
        return Ok(Checkpoint::open(&store, &step.to_string()).map_err(|error| match error {
            CheckpointError::NotFound { path, .. } => {
                CheckpointError::NotFound { path, there: steps(&store, "").unwrap_or_default() }
            }
            other => other,
        }));
    }
    Ok(match Checkpoint::open(&store, "") {
        Err(CheckpointError::NotFound { path, there }) => match there.last() {
            Some(last) => Checkpoint::open(&store, &last.to_string()),
            None => Err(CheckpointError::NotFound { path, there }),
        },
        opened => opened,
    })
}
