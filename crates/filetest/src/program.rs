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

/// The `shardc` program: what `SHARDC_BIN` names, else the one that cargo builds from this checkout, in the
/// profile that this test was built in.
///
/// # Errors
/// `SHARDC_BIN` names no file, or the build fails.
pub fn shardc() -> Result<PathBuf> {
    if let Some(path) = env::var_os("SHARDC_BIN").map(PathBuf::from) {
        ensure!(path.is_file(), "SHARDC_BIN names {}, which is not a file", path.display());
        return Ok(path);
    }
    let mut command = cargo();
    // For the whole workspace, so that shared dependencies have the features that they already were built with.
    command.args([
        "build",
        "--quiet",
        "--workspace",
        "--bin",
        "shardc",
        "--message-format=json-render-diagnostics",
    ]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    command.current_dir(crate::root()).stderr(Stdio::inherit());
    let out = command.output().context("starting cargo")?;
    ensure!(out.status.success(), "shardc does not build");
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

/// A search path where `shardc opt`, with a limit on its time, stands in for each of `tools`, then LLVM's tools and
/// what else there is. The stand-ins are written to the folder `bin`.
///
/// # Errors
/// There is no FileCheck, or `bin` cannot be written to.
pub fn search_path(bin: &Path, shardc: &Path, tools: &[&str]) -> Result<OsString> {
    fs::create_dir_all(bin).with_context(|| format!("making {}", bin.display()))?;
    for tool in tools {
        let file = bin.join(tool);
        let script = format!("#!/bin/sh\nexec timeout 60 '{}' opt \"$@\"\n", shardc.display());
        fs::write(&file, script).with_context(|| format!("writing {}", file.display()))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("making {} executable", file.display()))?;
    }
    let usual = env::var_os("PATH").unwrap_or_default();
    let llvm = llvm_tools().context("LLVM's FileCheck is not there")?;
    env::join_paths([bin.to_owned(), llvm].into_iter().chain(env::split_paths(&usual)))
        .context("joining the search path")
}

/// The cargo that runs us, without what it says to us about ourselves: some build scripts look at those variables,
/// so that passing them on would build everything above them anew.
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

/// The folder of LLVM's tools (`FileCheck`, `not`): beside the LLVM that the build uses, else on the `PATH`.
#[must_use]
pub fn llvm_tools() -> Option<PathBuf> {
    let prefix =
        env::var_os("MLIR_SYS_220_PREFIX").map_or_else(|| PathBuf::from("/usr/lib/llvm-22"), PathBuf::from);
    let has_filecheck = |dir: &Path| dir.join("FileCheck").is_file();
    let beside = prefix.join("bin");
    if has_filecheck(&beside) {
        return Some(beside);
    }
    env::split_paths(&env::var_os("PATH")?).find(|dir| has_filecheck(dir))
}
