//! Paths of the checkout.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use shardc_filetest::program::FEATURES;

use crate::process;

/// The checkout that this program was built from.
pub struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    metadata: Value,
}

pub use shardc_filetest::program::cargo;

impl Workspace {
    /// Finds the workspace, with `cargo metadata`.
    ///
    /// # Errors
    /// cargo cannot be run, or its output cannot be read.
    pub fn find() -> Result<Self> {
        let out = cargo()
            .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .context("running cargo metadata")?;
        ensure!(out.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&out.stderr));
        let metadata: Value = serde_json::from_slice(&out.stdout).context("reading cargo metadata")?;
        let path = |key: &str| {
            let text = metadata[key]
                .as_str()
                .with_context(|| format!("the output of cargo metadata has no `{key}`"))?;
            Ok::<_, anyhow::Error>(PathBuf::from(text))
        };
        Ok(Workspace { root: path("workspace_root")?, target: path("target_directory")?, metadata })
    }

    /// The path of a built program: `target/PROFILE/NAME`.
    pub fn program(&self, release: bool, name: &str) -> PathBuf {
        let profile = if release { "release" } else { "debug" };
        self.target.join(profile).join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// The folder of what a profile of Cargo builds.
    pub(crate) fn built(&self, profile: &str) -> PathBuf {
        self.built_for(None, profile)
    }

    /// The folder of what a profile of Cargo builds for a `--target`.
    pub(crate) fn built_for(&self, target: Option<&str>, profile: &str) -> PathBuf {
        // The profile `dev` has the folder `debug`.
        let profile = if profile == "dev" { "debug" } else { profile };
        self.target.join(target.unwrap_or_default()).join(profile)
    }

    /// Builds the program `shardc` with the features of the tests, and returns its path.
    ///
    /// # Errors
    /// The build fails.
    pub fn build_shardc(&self) -> Result<PathBuf> {
        let build = ["build", "--workspace", "--bin", "shardc"];
        process::run(cargo().current_dir(&self.root).args(build).args(FEATURES))?;
        Ok(self.program(false, "shardc"))
    }

    /// A folder for files that this program writes.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let dir = self.target.join("xtask").join(name);
        std::fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        Ok(dir)
    }

    /// The folder of each package, relative to the root, and the package's name.
    pub fn package_folders<'w>(&'w self) -> Vec<(&'w Path, &'w str)> {
        let folder_and_name = |package: &'w Value| -> Option<(&'w Path, &'w str)> {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some((manifest.parent()?.strip_prefix(&self.root).ok()?, package["name"].as_str()?))
        };
        self.packages().filter_map(folder_and_name).collect()
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.metadata["packages"].as_array().into_iter().flatten()
    }
}

/// Finds the first executable called `name` on the `PATH`; `None` if there is none.
pub fn which(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask` is built first and installs LLVM, so it must build quickly and without LLVM.
    #[test]
    fn xtask_needs_neither_llvm_nor_the_compiler() {
        let mut tree = cargo();
        tree.args(["tree", "--package", "xtask", "--prefix", "none", "--edges", "normal,build"]);
        let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("shardc-filetest"), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            !["mlir-sys", "tblgen", "shardc-ir", "rustls"].iter().any(|name| text.contains(name)),
            "{text}"
        );
    }
}
