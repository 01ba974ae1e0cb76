//! With the feature `mlir`: says what to install and what to set where LLVM is missing, before the build scripts of MLIR's
//! bindings fail with words about whichever LLVM they find.
//!
//! Those need LLVM 22 with MLIR, by `MLIR_SYS_220_PREFIX` and `TABLEGEN_220_PREFIX` or as the `llvm-config` on the path,
//! and libclang. Cargo builds first what most waits for, so a check in `shardc-mlir` itself would come after theirs; this
//! crate is under all others of shardc.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of LLVM that melior is made for.
const MAJOR: &str = "22";

/// The variables that say where LLVM is, of the crates `mlir-sys` and `tblgen`.
const PREFIXES: [&str; 2] = ["MLIR_SYS_220_PREFIX", "TABLEGEN_220_PREFIX"];

/// Where Debian puts it.
const DEBIAN: &str = "/usr/lib/llvm-22";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_MLIR").is_none() {
        return;
    }
    for variable in PREFIXES {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let wrong: Vec<String> = PREFIXES.iter().filter_map(|variable| trouble(variable).err()).collect();
    if wrong.is_empty() {
        return;
    }
    for line in wrong {
        println!("cargo::error={line}");
    }
    let has_debian = Path::new(DEBIAN).join("bin/llvm-config").exists();
    if !has_debian {
        println!(
            "cargo::error=install LLVM {MAJOR} with MLIR: on Debian 12 and later, `apt-get install libmlir-22-dev llvm-22-dev \
             libclang-22-dev libpolly-22-dev mlir-22-tools libzstd-dev zlib1g-dev g++`"
        );
    }
    println!(
        "cargo::error=then set {} to where it is (on Debian {DEBIAN}) and LIBCLANG_PATH to the folder of libclang ({DEBIAN}/lib), \
         in the environment or in [env] of .cargo/config.toml; or build shardc without its feature `mlir`, which needs no LLVM",
        PREFIXES.join(" and ")
    );
}

/// What is wrong with the LLVM that a variable, or the path where it is not set, leads to.
fn trouble(variable: &str) -> Result<(), String> {
    let prefix = std::env::var_os(variable).map(PathBuf::from);
    let config =
        prefix.as_ref().map_or_else(|| PathBuf::from("llvm-config"), |prefix| prefix.join("bin/llvm-config"));
    let from = match &prefix {
        Some(prefix) => format!("{variable}={}", prefix.display()),
        None => format!("{variable} is not set"),
    };
    let Some(version) = answer(&config, "--version") else {
        return Err(format!("{from}: there is no {} to run", config.display()));
    };
    if version.split('.').next() != Some(MAJOR) {
        return Err(format!("{from}: {} is of LLVM {version}, and LLVM {MAJOR} is needed", config.display()));
    }
    let headers = answer(&config, "--includedir").unwrap_or_default();
    if !Path::new(&headers).join("mlir-c/IR.h").exists() {
        return Err(format!("{from}: {headers} has no mlir-c/IR.h, so this LLVM comes without MLIR"));
    }
    Ok(())
}

fn answer(program: &Path, argument: &str) -> Option<String> {
    let output =
        Command::new(program).arg(argument).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
