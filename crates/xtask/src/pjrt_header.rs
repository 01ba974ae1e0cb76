//! OpenXLA's header of the PJRT C API, for the example in C++. The crate `pjrt-sys` has it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    files, process,
    workspace::{Workspace, cargo},
};

/// A package that depends on the crate, so that cargo downloads it. It is not compiled.
const MANIFEST: &str = "[package]\nname = \"header\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                        [dependencies]\npjrt-sys = \"=0.2.0\"\n\n[workspace]\n";

/// Downloads the header, if necessary, and returns its folder.
///
/// # Errors
/// The crate cannot be downloaded.
pub fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let package = workspace.scratch("pjrt-header")?;
    let manifest = package.join("Cargo.toml");
    if fs::read_to_string(&manifest).ok().as_deref() != Some(MANIFEST) {
        files::write(&manifest, MANIFEST)?;
        files::write(&package.join("src/lib.rs"), "")?;
    }
    let json = process::output(cargo().current_dir(&package).args(["metadata", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&json).context("reading cargo metadata")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let found = packages.find(|package| package["name"] == "pjrt-sys");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let root = manifest.and_then(|path| Path::new(path).parent());
    Ok(root.context("cargo metadata does not list pjrt-sys")?.join("include/xla/pjrt/c"))
}
