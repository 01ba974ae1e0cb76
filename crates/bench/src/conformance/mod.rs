//! `cargo xtask conformance`: runs shardc on the test files of StableHLO and Shardy and on the corpus of real programs.
//!
//! The files and the corpus are in `shared/` next to the checkout; the programs of the part `jax` are in `tests/conformance/jax`. Expected
//! differences are listed with their reasons in `tests/conformance/`. Any other difference is an error, and so is a listed difference that
//! no longer occurs.

mod bytecode;
mod exceptions;
mod filecheck;
mod gradients;
mod interpret;
mod jax;
mod partition;
mod peer;
mod propagation;
mod read;
mod shardy;
mod tools;
mod worker;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use shardc_filetest::shared;

use xtask::workspace::Workspace;

/// The parts to run, and their options.
#[derive(Args, Clone)]
pub(crate) struct ConformanceArgs {
    /// Run only files whose path contains one of these words. If the first word names a part, run only that part.
    filters: Vec<String>,
    /// Run only this part.
    #[arg(long)]
    only: Option<Part>,
    /// Print the messages of every failed file, not only its name.
    #[arg(long, short)]
    verbose: bool,
    /// Use an optimized build of shardc.
    #[arg(long)]
    release: bool,
    /// The Python with jax. Defaults to the active virtual environment, or else to a new one in `target/`.
    #[arg(long)]
    python: Option<PathBuf>,
    /// The meshes whose partitioned programs are also compared by `check_partition.py`.
    #[arg(long, value_enum, default_value_t = CheckWith::Own)]
    check_with: CheckWith,
    /// The number of random shardings of each gradient, in each SPMD mode.
    #[arg(long, default_value_t = 4)]
    shardings: u64,
    /// The random seed; the same seed gives the same shardings.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results of `jax` to `docs/JAX.md`.
    #[arg(long)]
    update: bool,
}

/// The partitioned programs that `check_partition.py` also compares.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckWith {
    /// No programs.
    Nothing,
    /// Programs on the mesh of their file.
    Own,
    /// All programs.
    All,
}

/// The parts of the conformance tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Every program is read, and is unchanged by printing and parsing; invalid programs are rejected.
    Read,
    /// jaxlib's bytecode and portable artifacts of the corpus, in several versions, equal their text.
    Bytecode,
    /// The `RUN:` lines of StableHLO's and Shardy's tests pass with `shardc opt` instead of their tools.
    Filecheck,
    /// The `RUN:` lines of Shardy's tests only, counted by function.
    Shardy,
    /// Programs of StableHLO's interpreter tests pass on several devices with random shardings.
    Interpret,
    /// Propagation computes the same shardings for the corpus as Shardy in jaxlib.
    Propagation,
    /// Partitioned programs of the corpus compute the same as on one device.
    Partition,
    /// Gradients equal JAX's and finite differences, also if partitioned with random shardings.
    Gradients,
    /// Programs lowered by the JAX of `--python` pass every check. Does not need the shared data.
    Jax,
    /// Partitioned programs of the corpora parse, verify and compile in the jaxlib of `--python`.
    Peer,
}

impl ConformanceArgs {
    /// If the first filter names a part, treats it like `--only`.
    fn part_first(&self) -> Self {
        let mut args = self.clone();
        let named = args.filters.first().and_then(|word| Part::from_str(word, false).ok());
        if args.only.is_none() && named.is_some() {
            args.only = named;
            args.filters.remove(0);
        }
        args
    }

    fn wants(&self, path: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| path.contains(filter.as_str()))
    }
}

/// Runs the selected parts.
pub(crate) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<()> {
    let args = &args.part_first();
    if args.only == Some(Part::Jax) {
        return jax::run(workspace, args);
    }
    let Some(root) = shared().filter(|dir| dir.join("conformance").is_dir()) else {
        bail!(
            "cannot find the conformance data: it must be in `shared/conformance` next to the checkout, or in the folder SHARDC_SHARED"
        );
    };
    let wants = |part| args.only.is_none_or(|only| only == part);
    if wants(Part::Read) {
        read::run(workspace, &root, args)?;
    }
    if wants(Part::Bytecode) {
        bytecode::run(workspace, args)?;
    }
    if wants(Part::Filecheck) {
        filecheck::run(workspace, &root.join("conformance/stablehlo"), args)?;
    }
    if wants(Part::Shardy) || wants(Part::Filecheck) {
        shardy::run(workspace, &root.join("conformance/shardy"), args)?;
    }
    if wants(Part::Interpret) {
        interpret::run(workspace, &root.join("conformance/stablehlo"), args)?;
    }
    if wants(Part::Propagation) {
        propagation::run(workspace, &root, args)?;
    }
    if wants(Part::Partition) {
        partition::run(workspace, &root, args)?;
    }
    if wants(Part::Gradients) {
        gradients::run(workspace, &root, args)?;
    }
    if wants(Part::Peer) {
        peer::run(workspace, &root, args)?;
    }
    if wants(Part::Jax) {
        jax::run(workspace, args)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_may_come_first_among_the_filters() {
        let of = |words: &[&str], only| {
            let filters = words.iter().map(|&w| w.to_owned()).collect();
            let args = ConformanceArgs {
                filters,
                only,
                verbose: false,
                release: false,
                python: None,
                check_with: CheckWith::Nothing,
                shardings: 1,
                seed: 1,
                update: false,
            };
            let args = args.part_first();
            (args.only.map(|part| part as usize), args.filters.join(" "))
        };
        let shardy = Some(Part::Shardy as usize);
        assert_eq!(of(&["shardy", "import"], None), (shardy, "import".to_owned()));
        assert_eq!(of(&["shardy/ir"], None), (None, "shardy/ir".to_owned()));
        assert_eq!(of(&["read"], Some(Part::Shardy)), (shardy, "read".to_owned()));
    }
}
