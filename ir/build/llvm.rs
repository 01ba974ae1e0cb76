//! Checks whether MLIR's bindings can use an installed LLVM, and reports what to install and which variables to set.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The LLVM version that melior requires.
const MAJOR: &str = "22";

/// The environment variables that give the crates `mlir-sys` and `tblgen` the path of LLVM.
pub(crate) const PREFIXES: [&str; 2] = ["MLIR_SYS_220_PREFIX", "TABLEGEN_220_PREFIX"];

/// The install prefix of Debian's LLVM packages.
const DEBIAN: &str = "/usr/lib/llvm-22";

/// Access to the build machine.
pub(crate) trait Machine {
    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Runs a program with one argument, and returns its output; `None` if the program does not exist or fails.
    fn answer(&self, program: &Path, argument: &str) -> Option<String>;

    /// Whether a file exists.
    fn has(&self, file: &Path) -> bool;
}

/// Returns the missing parts of the LLVM installation and how to install them, one per line; empty if the installed LLVM works with MLIR's
/// bindings.
pub(crate) fn errors(machine: &impl Machine) -> Vec<String> {
    let mut lines: Vec<String> =
        PREFIXES.iter().filter_map(|variable| trouble(machine, variable).err()).collect();
    if lines.is_empty() {
        return lines;
    }
    if !machine.has(&Path::new(DEBIAN).join("bin/llvm-config")) {
        lines.push(format!(
            "install LLVM {MAJOR} with MLIR: on Debian 12 and later, `apt-get install libmlir-22-dev llvm-22-dev \
             libclang-22-dev libpolly-22-dev mlir-22-tools libzstd-dev zlib1g-dev g++`"
        ));
    }
    lines.push(format!(
        "set {} to the install prefix of LLVM {MAJOR} (on Debian {DEBIAN}) and LIBCLANG_PATH to the directory of libclang \
         ({DEBIAN}/lib), in the environment or in [env] of .cargo/config.toml; or build shardc without the feature `mlir`",
        PREFIXES.join(" and ")
    ));
    lines
}

/// Checks the LLVM at the path in the environment variable `variable`, or the default LLVM if the variable is not set. The error is a line
/// of text for the user.
fn trouble(machine: &impl Machine, variable: &str) -> Result<(), String> {
    let prefix = machine.variable(variable).map(PathBuf::from);
    let config =
        prefix.as_ref().map_or_else(|| PathBuf::from("llvm-config"), |prefix| prefix.join("bin/llvm-config"));
    let from = match &prefix {
        Some(prefix) => format!("{variable}={}", prefix.display()),
        None => format!("{variable} is not set"),
    };
    let Some(version) = machine.answer(&config, "--version") else {
        return Err(format!("{from}: cannot run {}", config.display()));
    };
    if version.split('.').next() != Some(MAJOR) {
        return Err(format!("{from}: {} has version {version}, expected LLVM {MAJOR}", config.display()));
    }
    let headers = machine.answer(&config, "--includedir").unwrap_or_default();
    if !machine.has(&Path::new(&headers).join("mlir-c/IR.h")) {
        return Err(format!(
            "{from}: {headers} does not contain mlir-c/IR.h: this LLVM was installed without MLIR"
        ));
    }
    Ok(())
}
