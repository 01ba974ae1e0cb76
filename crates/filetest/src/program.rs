//! The programs that file tests run.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tools;

/// Cargo options that enable features whose tests would otherwise not run: S3 stores, which are tested with moto's local server.
///
/// Everything that `cargo xtask test` builds is built with these features: cargo recompiles a dependency if another selection of packages
/// enables different features of it.
pub const FEATURES: [&str; 2] = ["--features", "shardc/s3"];

/// The path of the `shardc` program: the file that `SHARDC_BIN` names, or a build of this checkout in the profile of the running test.
///
/// # Errors
/// `SHARDC_BIN` names no file, or the build fails.
pub fn shardc() -> Result<PathBuf> {
    if let Some(path) = env::var_os("SHARDC_BIN").map(PathBuf::from) {
        ensure!(path.is_file(), "SHARDC_BIN names {}, which is not a file", path.display());
        return Ok(path);
    }
    let mut command = cargo();
    // Builds the entire workspace, so that shared dependencies keep their features and are not rebuilt. One of the features is `mlir`,
    // which requires LLVM.
    let packages: &[&str] = if has_llvm() { &["--workspace"] } else { &["--package", "shardc-cli"] };
    command.args(["build", "--quiet"]).args(packages).args(FEATURES);
    command.args(["--bin", "shardc", "--message-format=json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    command.current_dir(crate::root()).stderr(Stdio::inherit());
    let out = command.output().context("starting cargo")?;
    ensure!(out.status.success(), "cannot build shardc");
    let executable = String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "shardc")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    match executable {
        Some(path) => Ok(path),
        None => bail!("cargo built no program called shardc"),
    }
}

/// A search path with `shardc opt` (with a time limit) under each of `names`, followed by `shardc`, FileCheck and the other [`tools`], and
/// the existing path. The wrappers are written to the folder `bin`.
///
/// # Errors
/// `bin` cannot be written to.
pub fn search_path(bin: &Path, shardc: &Path, names: &[&str]) -> Result<OsString> {
    tools::link(bin)?;
    for tool in names {
        let file = bin.join(tool);
        let script = format!("#!/bin/sh\nexec timeout 60 '{}' opt \"$@\"\n", shardc.display());
        fs::write(&file, script).with_context(|| format!("writing {}", file.display()))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("making {} executable", file.display()))?;
    }
    let usual = env::var_os("PATH").unwrap_or_default();
    let own = [Some(bin), shardc.parent()].into_iter().flatten().map(Path::to_owned);
    env::join_paths(own.chain(env::split_paths(&usual))).context("joining the search path")
}

/// The cargo that runs this process, without the variables that cargo sets for it. Some build scripts read these variables, so passing
/// them on would rebuild those packages and their dependents.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    let about_us = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| about_us.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether the LLVM for the feature `mlir` is installed.
#[must_use]
pub fn has_llvm() -> bool {
    let prefix =
        env::var_os("MLIR_SYS_220_PREFIX").map_or_else(|| PathBuf::from("/usr/lib/llvm-22"), PathBuf::from);
    prefix.join("bin/llvm-config").is_file()
}
