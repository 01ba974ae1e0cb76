//! A Python with JAX, whose jaxlib holds Shardy.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{process, workspace::Workspace};

/// The JAX release that the comparison is made with.
const JAX: &str = "0.10.2";

/// A Python that has the right JAX: the named one, the active virtual environment's, or one of our own, which is
/// made on first use.
pub(crate) fn with_jax(workspace: &Workspace, named: Option<&Path>) -> Result<PathBuf> {
    if let Some(python) = named {
        return match jax_version(python) {
            Some(version) => {
                if version != JAX {
                    println!(
                        "note: {} has jax {version}, the comparison is meant for {JAX}",
                        python.display()
                    );
                }
                Ok(python.to_owned())
            }
            None => bail!("{} has no jax: `{0} -m pip install jax=={JAX}`", python.display()),
        };
    }
    let active = env::var_os("VIRTUAL_ENV").map(|dir| PathBuf::from(dir).join("bin").join("python"));
    if let Some(python) = active.filter(|python| jax_version(python).as_deref() == Some(JAX)) {
        return Ok(python);
    }
    let venv = workspace.target.join("xtask-venv");
    let python = venv.join("bin").join("python");
    if jax_version(&python).as_deref() == Some(JAX) {
        return Ok(python);
    }
    process::step(&format!("make a Python environment with jax {JAX} in {}", venv.display()), || {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            .context("python3 cannot make virtual environments (Debian: `apt-get install python3-venv`)")?;
        process::run(Command::new(&python).args(["-m", "pip", "install", "--quiet", &format!("jax=={JAX}")]))
            .context("installing JAX (it needs Python 3.11 or newer)")
    })?;
    Ok(python)
}

fn jax_version(python: &Path) -> Option<String> {
    version_of(python, "jax")
}

/// The version of a package that a Python would import.
pub(crate) fn version_of(python: &Path, package: &str) -> Option<String> {
    let code = format!("import importlib.metadata as m; print(m.version('{package}'))");
    let out = Command::new(python).args(["-c", &code]).output().ok()?;
    let version = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (out.status.success() && !version.is_empty()).then_some(version)
}
