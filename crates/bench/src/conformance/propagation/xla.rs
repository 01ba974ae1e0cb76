//! The shardings of results when XLA compiles a program with Shardy. These shardings are the reference for programs that XLA rewrites
//! before it runs Shardy.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, anyhow, bail};
use shardc_ir::discardable::GSPMD_SHARDING;
use shardc_ir::{Attr, Module};
use shardc_passes::gspmd::export_gspmd;

use super::peer::Peer;
use xtask::process;

/// A script that compiles a program and prints the shardings of its results.
const SCRIPT: &str = include_str!("../../../python/xla_results.py");

/// Indices of the results of the program at `path` that XLA and the propagated module `ours` shard in the same way.
pub(super) fn agreeing_results(peer: &Peer, path: &Path, ours: &Module) -> Result<Vec<usize>> {
    let mut ours = ours.clone();
    export_gspmd(&mut ours).map_err(|errors| anyhow!("{}: {errors:?}", path.display()))?;
    let Some(devices) = ours.num_partitions() else {
        bail!("{}: the number of devices is unknown", path.display());
    };
    let script = peer.dir.join("xla_results.py");
    fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
    let stdout = process::output(Command::new(&peer.python).arg(&script).arg(path).arg(devices.to_string()))?;
    let line = stdout.lines().last().unwrap_or_default();
    let theirs: Vec<String> =
        serde_json::from_str(line).with_context(|| format!("parsing the output of XLA: {line}"))?;
    let attrs = ours.entry().map(|entry| ours.funcs[entry].res_attrs.as_slice()).unwrap_or_default();
    let ours = attrs.iter().map(|attrs| match attrs.get(GSPMD_SHARDING) {
        Some(Attr::Str(text)) => Some(&**text),
        _ => None,
    });
    let same = ours.zip(&theirs).enumerate().filter(|(_, (ours, theirs))| *ours == Some(theirs.as_str()));
    Ok(same.map(|(i, _)| i).collect())
}
