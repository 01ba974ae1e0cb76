//! `cargo xtask wheel`: the Python package with the program `shardc`, as a wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    files::copy,
    process, python,
    workspace::{Workspace, cargo},
};

/// The folder of the wheel, its profile, and the Pythons that try it.
#[derive(Args)]
pub struct WheelArgs {
    /// The folder of the wheel.
    #[arg(short, long, value_name = "DIR", default_value = "target/wheels")]
    output: PathBuf,
    /// The profile of Cargo: `dist` is small and fast, and takes minutes to build.
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Install the wheel in a new environment of this Python, with the newest JAX that it can have, and run the first example of the package.
    #[arg(long, value_name = "FILE")]
    check: Vec<PathBuf>,
}

/// Builds the program and the wheel, and checks the wheel.
///
/// # Errors
/// A build fails, or the wheel does not work.
pub fn run(workspace: &Workspace, args: &WheelArgs) -> Result<()> {
    process::step("build the program", || {
        let build = ["build", "--package", "shardc-cli", "--profile", &args.profile];
        process::run(cargo().current_dir(&workspace.root).args(build))
    })?;
    let program = workspace.built(&args.profile).join("shardc");
    let output = workspace.root.join(&args.output);
    let wheel = build(workspace, &output, &args.profile, &program, |_| ())?;
    let package = workspace.root.join("crates/python");
    for python in &args.check {
        process::step(&format!("try the wheel with {}", python.display()), || {
            check(&wheel, python, &package)
        })?;
    }
    Ok(())
}

/// Builds the wheel with a profile of Cargo, a program, and options of maturin; returns the wheel.
pub(crate) fn build(
    workspace: &Workspace,
    output: &Path,
    profile: &str,
    program: &Path,
    options: impl FnOnce(&mut Command),
) -> Result<PathBuf> {
    let package = workspace.root.join("crates/python");
    copy(program, &package.join("python/shardc/bin/shardc"))?;
    let mut maturin = Command::new(python::maturin()?);
    maturin.args(["build", "--profile", profile, "--out"]).arg(output).current_dir(&package);
    options(&mut maturin);
    process::step("build the wheel", || process::run(&mut maturin))?;
    let wheel = newest(output)?;
    println!("{}: {:.1} MB", wheel.display(), fs::metadata(&wheel)?.len() as f64 / 1e6);
    Ok(wheel)
}

/// The newest wheel in a folder.
fn newest(folder: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let wheels = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension() == Some("whl".as_ref()));
    let dated = wheels.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)));
    dated.max().map(|(_, path)| path).context("no wheel was built")
}

/// Installs the wheel beside JAX in a new environment, and runs the example of the package's README and the program.
fn check(wheel: &Path, python: &Path, package: &Path) -> Result<()> {
    let environment = tempfile::tempdir()?;
    let bin = environment.path().join("bin");
    process::run(Command::new(python).args(["-m", "venv"]).arg(environment.path()))?;
    process::run(
        Command::new(bin.join("python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(format!("{}[jax]", wheel.display())),
    )?;
    let readme = fs::read_to_string(package.join("README.md"))?;
    let example = readme.split_once("```python\n").and_then(|(_, rest)| rest.split_once("```"));
    let (example, _) = example.context("the README has an example")?;
    let script = environment.path().join("example.py");
    fs::write(&script, example)?;
    let mut run = Command::new(bin.join("python"));
    run.arg(&script).env("XLA_FLAGS", "--xla_force_host_platform_device_count=8").env("JAX_PLATFORMS", "cpu");
    let shown = process::output(&mut run)?;
    ensure!(shown.contains("collective"), "the example explained no collective:\n{shown}");
    print!("{shown}");
    process::run(Command::new(bin.join("shardc")).arg("--version"))
}
