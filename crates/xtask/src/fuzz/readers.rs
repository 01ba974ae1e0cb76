//! `cargo xtask fuzz readers`: coverage-guided fuzzing of small programs (libFuzzer through cargo-fuzz).
//!
//! The seeds are the small programs of the checkout and, if available, of the shared corpus and of StableHLO's and Shardy's tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use shardc_filetest::{files, shared};

use crate::{process, workspace::Workspace};

/// The path of the fuzz targets in the checkout.
const DIR: &str = "crates/stablehlo/fuzz";

/// The maximum size of a seed in bytes: larger seeds slow down fuzzing without additional findings.
const MAX_SEED: u64 = 16 * 1024;

/// The fuzz target.
#[derive(Clone, Copy)]
enum Target {
    /// The parser of text: accepted input is verified, printed and parsed again.
    Text,
    /// The reader of MLIR bytecode and portable artifacts.
    Bytecode,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Target::Text => "text",
            Target::Bytecode => "bytecode",
        }
    }

    /// File extensions of seeds.
    fn extensions(self) -> &'static [&'static str] {
        match self {
            Target::Text => &["mlir"],
            Target::Bytecode => &["mlirbc", "bc"],
        }
    }
}

/// Fuzzes each reader for the given number of minutes. An input that causes a crash is an error, which names the input's file.
pub(super) fn run(workspace: &Workspace, minutes: u64) -> Result<()> {
    let installed = Command::new("cargo").args(["+nightly", "fuzz", "--version"]).output();
    ensure!(
        installed.is_ok_and(|out| out.status.success()),
        "`fuzz readers` needs a nightly compiler and cargo-fuzz: run `rustup toolchain install nightly` and \
         `cargo install cargo-fuzz`; the other fuzzers need neither"
    );
    [Target::Text, Target::Bytecode].into_iter().try_for_each(|target| one(workspace, target, minutes))
}

fn one(workspace: &Workspace, target: Target, minutes: u64) -> Result<()> {
    let name = target.name();
    let dir = workspace.scratch("fuzz")?;
    let (seeds, corpus) = (dir.join(format!("{name}-seeds")), dir.join(format!("{name}-corpus")));
    for dir in [&seeds, &corpus] {
        fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    }
    let count = process::step("collect seeds", || collect(workspace, target, &seeds))?;
    println!("{count} seeds; findings are written to {}", dir.display());
    let mut command = Command::new("cargo");
    command.current_dir(&workspace.root).args(["+nightly", "fuzz", "run", "--fuzz-dir", DIR, name]);
    command.arg(&corpus).arg(&seeds).arg("--");
    command.arg(format!("-max_total_time={}", 60 * minutes));
    command.arg(format!("-dict={}", workspace.root.join(DIR).join("mlir.dict").display()));
    command.args(["-timeout=20", "-rss_limit_mb=4096", "-max_len=16384", "-print_final_stats=1"]);
    process::run(&mut command)
}

/// Copies small programs to `seeds`, each program of a file to its own file. Returns their number.
fn collect(workspace: &Workspace, target: Target, seeds: &Path) -> Result<usize> {
    let mut roots: Vec<PathBuf> =
        vec![workspace.root.join("tests"), workspace.root.join("crates/stablehlo/tests/data")];
    roots.extend(shared().into_iter().flat_map(|dir| [dir.join("corpus"), dir.join("conformance")]));
    let mut count = 0;
    for root in roots.iter().filter(|root| root.is_dir()) {
        for extension in target.extensions() {
            for file in files(root, extension).with_context(|| format!("reading {}", root.display()))? {
                let bytes = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
                let parts = match std::str::from_utf8(&bytes) {
                    Ok(text) => text.split("// -----").map(str::as_bytes).collect(),
                    Err(_) => vec![&bytes[..]],
                };
                for part in parts.into_iter().filter(|part| part.len() as u64 <= MAX_SEED) {
                    fs::write(seeds.join(count.to_string()), part)
                        .with_context(|| format!("writing to {}", seeds.display()))?;
                    count += 1;
                }
            }
        }
    }
    Ok(count)
}
