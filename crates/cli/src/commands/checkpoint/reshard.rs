//! `shardc checkpoint reshard`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::checkpoint::{Alone, Entry, Sharding, reshard};
use shardc_ir::suggest::unknown_name_hint;
use shardc_passes::annotations::spec::{MeshSpec, SpecError};

use super::source::Opened;
use crate::args::checkpoint::ReshardArgs;
use crate::checkpoints::{failure, matches, options, split, store};
use crate::failure::usage;
use crate::ui::Ui;
use crate::ui::table::bytes;

/// Axes and their sizes.
type Mesh = Vec<(String, usize)>;

pub(super) fn run(args: &ReshardArgs, ui: &Ui) -> Result<ExitCode> {
    let options = options(&args.store.options)?;
    let mesh: Option<Mesh> = args.mesh.as_deref().map(mesh).transpose()?;
    let specs: Vec<(&str, Vec<Vec<String>>)> =
        args.spec.iter().map(|text| spec(text)).collect::<Result<_>>()?;
    let (folder, name) = split(&args.to)?;
    let from = Opened::new(&args.from, &options, None, args.item.as_deref())?;
    let from = from.source();
    let arrays = from.arrays();
    for (pattern, _) in &specs {
        if !arrays.iter().any(|entry| matches(pattern, &entry.name)) {
            return Err(usage(format!("--spec: no array matches {pattern}")));
        }
    }
    let entries = arrays.iter().map(|entry| with_blocks(entry, mesh.as_ref(), &specs));
    let entries: Vec<Entry> = entries.collect::<Result<_>>()?;
    let mut progress = ui.progress();
    progress.stage("reshard");
    let saved = reshard(from, entries, &store(folder, &options)?, name, &Alone, None).map_err(failure)?;
    progress.finish();
    ui.summary(
        || format!("{} written to {}\n", bytes(saved.bytes), args.to),
        || json!({ "bytes": saved.bytes, "place": args.to }),
    );
    Ok(ExitCode::SUCCESS)
}

fn mesh(text: &str) -> Result<Mesh> {
    let spec: MeshSpec = text.parse().map_err(|error: SpecError| {
        usage(format!("--mesh: {}", error.to_diagnostic("mesh", text).message))
    })?;
    let mesh = spec.to_mesh();
    Ok(mesh.axes.iter().map(|(axis, &size)| (axis.to_string(), usize::try_from(size).unwrap_or(1))).collect())
}

/// Parses an option `--spec` such as `params.w=data,-,x+y`.
fn spec(text: &str) -> Result<(&str, Vec<Vec<String>>)> {
    let (name, spec) =
        text.rsplit_once('=').ok_or_else(|| usage(format!("--spec {text}: expected NAME=SPEC")))?;
    let dim = |dim: &str| match dim.trim() {
        "-" | "" => Vec::new(),
        axes => axes.split('+').map(|axis| axis.trim().to_owned()).collect(),
    };
    Ok((name, spec.split(',').map(dim).collect()))
}

/// Returns the entry with the blocks of its new sharding.
fn with_blocks(entry: &Entry, mesh: Option<&Mesh>, specs: &[(&str, Vec<Vec<String>>)]) -> Result<Entry> {
    let Some(mesh) = mesh else { return Ok(Entry::whole(&entry.name, entry.dtype, &entry.shape)) };
    let given = specs.iter().rev().find(|(pattern, _)| matches(pattern, &entry.name));
    let has = |axis: &String| mesh.iter().any(|(known, _)| known == axis);
    let mut spec = match given {
        Some((pattern, spec)) => {
            if spec.len() > entry.shape.len() {
                let rank = entry.shape.len();
                return Err(usage(format!(
                    "--spec: {pattern} has {} dimensions, but {} has {rank}",
                    spec.len(),
                    entry.name
                )));
            }
            if let Some(axis) = spec.iter().flatten().find(|axis| !has(axis)) {
                let known: Vec<&str> = mesh.iter().map(|(known, _)| known.as_str()).collect();
                let hint = unknown_name_hint(axis, "its axes", &known);
                return Err(usage(format!("--spec: the mesh has no axis {axis}; {hint}")));
            }
            spec.clone()
        }
        None => {
            let old = entry.sharding.as_ref().map(|sharding| sharding.spec.clone()).unwrap_or_default();
            old.into_iter().map(|axes| axes.into_iter().filter(|axis| has(axis)).collect()).collect()
        }
    };
    spec.resize(entry.shape.len(), Vec::new());
    let size = |axis: &String| mesh.iter().find(|(known, _)| known == axis).map_or(1, |(_, size)| *size);
    let shards: Vec<usize> = spec.iter().map(|axes| axes.iter().map(size).product()).collect();
    let sharding = Some(Sharding { mesh: mesh.clone(), spec });
    Ok(Entry { sharding, ..Entry::split(&entry.name, entry.dtype, &entry.shape, &shards) })
}
