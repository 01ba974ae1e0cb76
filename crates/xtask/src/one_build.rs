//! One build for lints, tests and documentation: Clippy compiles the crates of the workspace, and rustdoc checks their documentation when
//! cargo runs the doctests.
//!
//! `cargo clippy` and `cargo doc` analyse every crate again, because cargo does not share the results of `check` with `build`. Clippy is a
//! compiler driver and also generates code, so cargo can use it in place of rustc (`RUSTC_WORKSPACE_WRAPPER`).

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{
    process,
    workspace::{Workspace, which},
};

/// The variable that makes this program stand in for rustdoc: the path of rustdoc.
const RUSTDOC: &str = "SHARDC_REAL_RUSTDOC";

/// The variable with the folder for the documentation.
const PAGES: &str = "SHARDC_RUSTDOC_PAGES";

/// Finds a program of the toolchain: on the `PATH`, or in the folder of rustc.
fn tool(name: &str) -> Option<PathBuf> {
    let beside_rustc = || {
        let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
        let path = Path::new(sysroot.trim()).join("bin").join(name);
        path.is_file().then_some(path)
    };
    which(name).or_else(beside_rustc)
}

/// Clippy as a compiler.
pub(crate) struct Clippy(PathBuf);

impl Clippy {
    /// Finds Clippy.
    ///
    /// # Errors
    /// Clippy is not installed.
    pub(crate) fn find() -> Result<Clippy> {
        let missing = "`clippy-driver` is not installed: run `rustup component add clippy`, or only the tests with `cargo xtask test test`";
        tool("clippy-driver").map(Clippy).context(missing)
    }

    /// Makes a command of cargo compile the workspace with Clippy; warnings are errors.
    pub(crate) fn compiles(&self, mut command: Command) -> Command {
        command.env("RUSTC_WORKSPACE_WRAPPER", &self.0).env("CLIPPY_ARGS", "-Dwarnings");
        command
    }
}

/// Makes `cargo test --doc` also write the documentation of each library; warnings are errors.
///
/// # Errors
/// rustdoc is not installed, or the folder for the documentation cannot be made.
pub(crate) fn with_documentation(command: &mut Command, workspace: &Workspace) -> Result<()> {
    let rustdoc = env::var_os("RUSTDOC").map(PathBuf::from).or_else(|| tool("rustdoc"));
    let rustdoc = rustdoc.context("`rustdoc` is not installed: it is part of the Rust toolchain")?;
    // Not `current_exe`: cargo may have built this program again since it started, with Clippy.
    let xtask = workspace.program(false, "xtask");
    command.env("RUSTDOC", xtask).env(RUSTDOC, rustdoc).env(PAGES, workspace.scratch("doc")?);
    Ok(())
}

/// Runs as rustdoc if cargo started this program in place of it, and returns the exit code. Before doctests run, the documentation of the
/// same library is written.
pub fn stand_in() -> Option<ExitCode> {
    let rustdoc = env::var_os(RUSTDOC)?;
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let run = |arguments: &[OsString]| Command::new(&rustdoc).args(arguments).env_remove(RUSTDOC).status();
    let done = match (of_documentation(&arguments), env::var_os(PAGES)) {
        (Some(mut of_pages), Some(pages)) => {
            of_pages.extend(["-Dwarnings".into(), "--out-dir".into(), pages]);
            run(&of_pages).and_then(|status| if status.success() { run(&arguments) } else { Ok(status) })
        }
        _ => run(&arguments),
    };
    Some(match done {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", Path::new(&rustdoc).display());
            ExitCode::FAILURE
        }
    })
}

/// Returns the arguments with which rustdoc documents a library, from those with which it runs the library's doctests; otherwise `None`.
fn of_documentation(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let is = |argument: &OsString, name: &str| argument.as_os_str() == OsStr::new(name);
    if !arguments.iter().any(|argument| is(argument, "--test")) {
        return None;
    }
    let with_value = ["--test-run-directory", "--test-args", "--test-runtool", "--test-runtool-arg"];
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if with_value.iter().any(|name| is(argument, name)) {
            rest.next();
        } else if !is(argument, "--test") && !is(argument, "--no-run") {
            kept.push(argument.clone());
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_doctests_become_those_of_documentation() {
        let of = |text: &str| {
            let arguments: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            let documented = of_documentation(&arguments)?;
            Some(documented.join(OsStr::new(" ")).into_string().unwrap())
        };
        let test = "--edition=2024 --crate-name ir --test src/lib.rs --test-run-directory /w/ir --extern half=/d/half.rlib --no-run";
        assert_eq!(
            of(test).as_deref(),
            Some("--edition=2024 --crate-name ir src/lib.rs --extern half=/d/half.rlib")
        );
        assert_eq!(of("-vV"), None);
        assert_eq!(of("--crate-name ir src/lib.rs"), None);
    }
}
