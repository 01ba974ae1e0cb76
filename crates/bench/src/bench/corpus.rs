//! The programs to compare: programs of the shared corpus of real programs, or files.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{BenchArgs, shared};
use xtask::workspace::Workspace;

/// Folders of the corpus.
const FOLDERS: [&str; 2] = ["jax", "torch_xla"];

/// A program to compare.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// The kind of annotations that XLA reads: `shardy` or `gspmd`.
    pub(super) mode: &'static str,
    /// The strategy's name in the corpus: `dp`, `fsdp`, ...
    pub(super) strategy: String,
}

/// Returns the programs that the command line names. By default, returns the programs of the corpus for whose entries `is_default` holds.
pub(super) fn subjects(
    workspace: &Workspace,
    args: &BenchArgs,
    is_default: impl Fn(&Value) -> bool,
) -> Result<Vec<Subject>> {
    let mut out = Vec::new();
    let mut found = BTreeMap::new();
    for folder in FOLDERS {
        let dir = shared(workspace).join("corpus").join(folder);
        let manifest = dir.join("manifest.json");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let json: Value =
            serde_json::from_str(&text).with_context(|| format!("reading {}", manifest.display()))?;
        for program in json["programs"].as_array().into_iter().flatten() {
            let text = |key: &str| program[key].as_str().unwrap_or_default().to_owned();
            let subject = Subject {
                name: text("name"),
                file: dir.join(text("file")),
                mode: if program["dialect"] == "sdy" { "shardy" } else { "gspmd" },
                strategy: text("strategy"),
            };
            if args.files.is_empty() && is_default(program) {
                out.push(subject);
            } else {
                found.insert(subject.name.clone(), subject);
            }
        }
    }
    for file in &args.files {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let known = found.remove(&name);
        let is_file = file.is_file();
        ensure!(
            is_file || known.is_some(),
            "{} is neither a file nor a program of the corpus",
            file.display()
        );
        out.push(match known {
            Some(known) if !is_file => known,
            known => Subject {
                name,
                file: file.clone(),
                mode: "shardy",
                strategy: known.map(|subject| subject.strategy).unwrap_or_default(),
            },
        });
    }
    Ok(out)
}
