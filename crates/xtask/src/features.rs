//! `cargo xtask features`: the libraries compile without features, with each feature alone, and with all.

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::{
    process,
    workspace::{Workspace, cargo},
};

/// The packages whose features are checked.
const PACKAGES: [&str; 2] = ["shardc", "shardc-train"];

/// The features to check.
#[derive(Args)]
pub struct FeaturesArgs {
    /// Check only these features, each alone, in the packages that have them. By default, each feature is checked alone, and so are no
    /// features and all features together. `mlir` needs LLVM, from `cargo xtask setup`.
    only: Vec<String>,
}

/// Checks the libraries and their tests with each set of features; warnings are errors.
pub fn run(workspace: &Workspace, args: &FeaturesArgs) -> Result<()> {
    let known = PACKAGES.map(|package| Ok((package, names(workspace, package)?)));
    let known: Vec<(&str, Vec<String>)> = known.into_iter().collect::<Result<_>>()?;
    for name in &args.only {
        let all: Vec<&str> = known.iter().flat_map(|(_, names)| names).map(String::as_str).collect();
        ensure!(
            all.contains(&name.as_str()),
            "no package has a feature {name}; the features are {}",
            all.join(", ")
        );
    }
    for (package, names) in &known {
        if args.only.is_empty() {
            check(workspace, package, &[])?;
        }
        for name in names.iter().filter(|name| args.only.is_empty() || args.only.contains(name)) {
            check(workspace, package, &["--features", name])?;
        }
        if args.only.is_empty() {
            check(workspace, package, &["--all-features"])?;
        }
    }
    Ok(())
}

fn check(workspace: &Workspace, package: &str, features: &[&str]) -> Result<()> {
    let mut clippy = cargo();
    clippy.current_dir(&workspace.root);
    clippy.args(["clippy", "--package", package, "--all-targets", "--no-deps", "--no-default-features"]);
    process::run(clippy.args(features).args(["--", "-D", "warnings"]))
}

/// Returns the features that the manifest of a package defines.
fn names(workspace: &Workspace, package: &str) -> Result<Vec<String>> {
    let mut metadata = cargo();
    metadata.current_dir(&workspace.root);
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let metadata: Value =
        serde_json::from_str(&process::output(&mut metadata)?).context("reading cargo metadata")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages.find(|found| found["name"] == package).map(|found| &found["features"]);
    let features =
        features.and_then(Value::as_object).context("the output of cargo metadata has no features")?;
    Ok(features.keys().cloned().collect())
}
