//! Checks partitions of a program, in both modes, with JAX's MLIR and CPU client.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use shardc::{Compiler, Error, SpmdMode};

use super::{
    Answer, Outcome,
    jax::refusal,
    peer::{Opinion, Peer},
};

/// Runs a job `{"file", "out" (a folder)}`: partitions the file on its own mesh in both modes. Each partition has to parse and verify in
/// jaxlib's MLIR, and to compile on jaxlib's CPU client if the original does.
pub(super) fn answer(job: &Value, peer: &mut Peer) -> Answer {
    let path = |name: &str| PathBuf::from(job[name].as_str().unwrap_or_default());
    let (file, out) = (path("file"), path("out"));
    let mut compiles = None;
    for (mode, word) in [(SpmdMode::Replica, "replica"), (SpmdMode::Partition, "partition")] {
        if let Err((outcome, message)) = partition(&file, mode, &out) {
            return Answer::new(outcome, format!("{word}: {message}"));
        }
        let opinion = peer.partition(&out, None);
        if opinion == Opinion::Accepted {
            continue;
        }
        let compiles = *compiles.get_or_insert_with(|| peer.original(&file) == Opinion::Accepted);
        if let Some(message) = refusal(&opinion, compiles) {
            return Answer::new(Outcome::Wrong, format!("{word}: {message}"));
        }
    }
    Answer::new(Outcome::Equal, "")
}

/// Writes the text of the partition and its manifest to a folder.
fn partition(file: &Path, mode: SpmdMode, out: &Path) -> Result<(), (Outcome, String)> {
    let failed = |error: std::io::Error| (Outcome::Failed, error.to_string());
    let bytes = fs::read(file).map_err(failed)?;
    let refused = |error: Error| {
        let is_refusal = matches!(error, Error::Diagnostics(_)) && !error.is_internal();
        let outcome = if is_refusal { Outcome::Refused } else { Outcome::Failed };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        (outcome, error.render(&name, &String::from_utf8_lossy(&bytes), false))
    };
    let module = Compiler::read(&bytes).map_err(refused)?;
    let output = Compiler::new().spmd_mode(mode).partition_module(module).map_err(refused)?;
    fs::create_dir_all(out)
        .and_then(|()| fs::write(out.join("partitioned.mlir"), output.text()))
        .and_then(|()| fs::write(out.join("manifest.json"), output.manifest().to_json()))
        .map_err(failed)
}
