//! A Python environment with pinned packages for independent checks: JAX, Orbax, tensorstore, safetensors, and moto's local S3 server.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::process;

/// The installed packages, with pinned versions.
const REQUIREMENTS: &str = include_str!("../python/requirements.txt");

/// The JAX release that comparisons use. It is one of the requirements.
const JAX: &str = "0.10.2";

/// The environment variable that names a Python for tests.
pub const VARIABLE: &str = "SHARDC_PYTHON";

/// The Python for tests: the interpreter that `SHARDC_PYTHON` names, or a virtual environment that is created on first use.
///
/// Prints a message and returns `None` if the environment cannot be created, for example without a network. Tests that need it are then
/// skipped.
///
/// # Errors
/// The environment cannot be created in continuous integration (`CI` is set), where no test may be skipped.
pub fn for_tests() -> Result<Option<PathBuf>> {
    if let Some(named) = set(VARIABLE) {
        println!("Python for tests: {} ({VARIABLE})", PathBuf::from(&named).display());
        return Ok(Some(named.into()));
    }
    match own() {
        Ok(python) => Ok(Some(python)),
        Err(error) if set("CI").is_some() => Err(error),
        Err(error) => {
            println!("SKIPPED: tests that need Python, because its environment cannot be created: {error:#}");
            Ok(None)
        }
    }
}

/// Returns a Python with the pinned JAX: the interpreter `named`, else that of the active virtual environment, else that of a virtual
/// environment that is created on first use.
pub fn with_jax(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(python) = named {
        return match version_of(python, "jax") {
            Some(version) => {
                if version != JAX {
                    println!(
                        "note: {} has jax {version}, but the comparison expects {JAX}",
                        python.display()
                    );
                }
                Ok(python.to_owned())
            }
            None => bail!("{} has no jax; install it with `{0} -m pip install jax=={JAX}`", python.display()),
        };
    }
    let active = set("VIRTUAL_ENV").map(|dir| python_in(Path::new(&dir)));
    match active.filter(|python| version_of(python, "jax").as_deref() == Some(JAX)) {
        Some(python) => Ok(python),
        None => own(),
    }
}

/// Returns a Python with any release of JAX: the interpreter `named`, or that of [`with_jax`].
pub fn with_any_jax(named: Option<&Path>) -> Result<PathBuf> {
    match named {
        Some(python) if version_of(python, "jax").is_some() => Ok(python.to_owned()),
        Some(python) => bail!("{} has no jax; install it with `{0} -m pip install jax`", python.display()),
        None => with_jax(None),
    }
}

/// The release of maturin that builds wheels.
const MATURIN: &str = "1.16.0";

/// Returns maturin, which is installed in an environment of its own in shardc's cache.
pub fn maturin() -> Result<PathBuf> {
    let cache =
        cache().context("cannot find the cache folder because neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = cache.join("maturin");
    let python = python_in(&folder);
    if version_of(&python, "maturin").as_deref() != Some(MATURIN) {
        process::step("install maturin, which builds wheels", || {
            process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            process::run(pip.arg(format!("maturin=={MATURIN}")))
        })?;
    }
    Ok(folder.join("bin/maturin"))
}

/// Returns the version of a package in the Python installation `python`, or `None` if the package is not installed.
pub fn version_of(python: &Path, package: &str) -> Option<String> {
    let code = format!("import importlib.metadata as m; print(m.version('{package}'))");
    let out = Command::new(python).args(["-c", &code]).output().ok()?;
    let version = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (out.status.success() && !version.is_empty()).then_some(version)
}

/// Returns the Python of the virtual environment in shardc's cache. The environment is created if it does not have all packages.
fn own() -> Result<PathBuf> {
    let cache =
        cache().context("cannot find the cache folder because neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = cache.join("python");
    let python = python_in(&folder);
    fs::create_dir_all(&cache).with_context(|| format!("making {}", cache.display()))?;
    let lock = cache.join("python.lock");
    let lock = fs::File::create(&lock).with_context(|| format!("making {}", lock.display()))?;
    // The lock is held until the end of this function. If two processes need the packages at the same time, one installs them, and the
    // other waits.
    lock.lock().context("waiting for another process that is installing the same packages")?;
    // This file is written last: if it exists with the same text, the packages are installed.
    let installed = folder.join("requirements.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS) && runs(&python) {
        println!("Python for tests: already installed ({})", python.display());
        return Ok(python);
    }
    process::step(
        &format!("install Python packages for tests (about 900 MB unpacked) in {}", folder.display()),
        || {
            let _ = fs::remove_file(&installed);
            process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)).context(
                "python3 cannot create virtual environments; on Debian, run `apt-get install python3-venv`",
            )?;
            let list = folder.join("installing.txt");
            fs::write(&list, REQUIREMENTS).with_context(|| format!("writing {}", list.display()))?;
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
            pip.args(["--no-deps", "--only-binary", ":all:", "--requirement"]).arg(&list);
            process::run(&mut pip).context("installing Python packages, which need Python 3.11 or newer")?;
            process::run(Command::new(&python).args(["-m", "pip", "check"]))?;
            fs::rename(&list, &installed).with_context(|| format!("renaming {}", list.display()))
        },
    )?;
    Ok(python)
}

/// The folder of shardc's caches, as `shardc` itself finds it. The XDG specification requires that relative paths are ignored.
fn cache() -> Option<PathBuf> {
    let xdg = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(xdg.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("shardc"))
}

/// The interpreter of a virtual environment.
fn python_in(environment: &Path) -> PathBuf {
    environment.join("bin").join("python")
}

/// Whether an interpreter starts. An environment is broken if its base Python was removed.
fn runs(python: &Path) -> bool {
    Command::new(python).args(["-c", ""]).status().is_ok_and(|status| status.success())
}

/// Returns the value of an environment variable, if the variable is set and not empty.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_exact_version() {
        let mut names = Vec::new();
        for line in REQUIREMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, version) = line.split_once("==").unwrap_or_else(|| panic!("{line} has no version"));
            let exact = version.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
            assert!(exact && version.starts_with(|c: char| c.is_ascii_digit()), "{line}");
            names.push(name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == count && count > 40, "a package twice, or few: {names:?}");
        assert!(REQUIREMENTS.lines().any(|line| line == format!("jax=={JAX}")), "jax is not {JAX}");
    }
}
