//! `cargo xtask features`: the library compiles without features, with each feature alone, and with all.

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::{
    process,
    workspace::{Workspace, cargo},
};

/// The package whose features are checked.
const PACKAGE: &str = "shardc";

/// The features to check.
#[derive(Args)]
pub struct FeaturesArgs {
    /// Check only these features, each alone. By default, each feature is checked alone, and so are no features and all features together.
    /// `mlir` needs LLVM, from `cargo xtask setup`.
    only: Vec<String>,
}

/// Checks the library and its tests with each set of features; warnings are errors.
pub fn run(workspace: &Workspace, args: &FeaturesArgs) -> Result<()> {
    let known = names(workspace)?;
    for name in &args.only {
        ensure!(
            known.contains(name),
            "{PACKAGE} has no feature {name}; its features are {}",
            known.join(", ")
        );
    }
    if !args.only.is_empty() {
        return args.only.iter().try_for_each(|name| check(workspace, &["--features", name]));
    }
    check(workspace, &[])?;
    known.iter().try_for_each(|name| check(workspace, &["--features", name]))?;
    check(workspace, &["--all-features"])
}

fn check(workspace: &Workspace, features: &[&str]) -> Result<()> {
    let mut clippy = cargo();
    clippy.current_dir(&workspace.root);
    clippy.args(["clippy", "--package", PACKAGE, "--all-targets", "--no-deps", "--no-default-features"]);
    process::run(clippy.args(features).args(["--", "-D", "warnings"]))
}

/// Returns the features that the manifest of the package defines.
fn names(workspace: &Workspace) -> Result<Vec<String>> {
    let mut metadata = cargo();
    metadata.current_dir(&workspace.root);
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let metadata: Value =
        serde_json::from_str(&process::output(&mut metadata)?).context("reading cargo metadata")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages.find(|package| package["name"] == PACKAGE).map(|package| &package["features"]);
    let features =
        features.and_then(Value::as_object).context("the output of cargo metadata has no features")?;
    Ok(features.keys().cloned().collect())
}
