//! Installs shardc's dependencies.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    plugins::{self, Plugin},
    process, python,
    workspace::{Workspace, which},
};

/// The Debian packages of LLVM 22 with MLIR, of libraries that LLVM links, and of the tests of the C library.
const PACKAGES: [&str; 9] = [
    "libmlir-22-dev",
    "llvm-22-dev",
    "libclang-22-dev",
    "libpolly-22-dev",
    "mlir-22-tools",
    "libzstd-dev",
    "zlib1g-dev",
    "cmake",
    "valgrind",
];

/// The compiler that is used to link LLVM's C++ libraries.
const COMPILER: &str = "g++";

/// Installs missing dependencies, the CPU plugin, and the plugins `others`; returns the Python for tests, if any.
pub fn run(others: &[Plugin]) -> Result<Option<PathBuf>> {
    process::step("setup", || {
        let python = to_build()?;
        plugins(&Workspace::find()?.build_shardc()?, others)?;
        Ok(python)
    })
}

/// Installs all missing dependencies except plugins, which `shardc` itself installs; returns the Python for tests, if any.
pub fn to_build() -> Result<Option<PathBuf>> {
    system_packages()?;
    python::for_tests()
}

/// Installs missing plugins: the CPU plugin, which runs programs on this machine, and the plugins `others`.
pub fn plugins(shardc: &Path, others: &[Plugin]) -> Result<()> {
    [Plugin::Cpu].iter().chain(others).try_for_each(|&plugin| plugins::ensure(shardc, plugin))
}

fn system_packages() -> Result<()> {
    if which("apt-get").is_none() || which("dpkg-query").is_none() {
        return without_apt();
    }
    let mut missing: Vec<&str> = PACKAGES.into_iter().filter(|p| !is_installed(p)).collect();
    if which("c++").is_none() && which(COMPILER).is_none() {
        missing.push(COMPILER);
    }
    if missing.is_empty() {
        println!("LLVM 22 with MLIR: already installed (Debian packages)");
        return Ok(());
    }
    println!("installing Debian packages (about 2 GB unpacked): {}", missing.join(" "));
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(&missing);
    let known = missing.iter().all(|p| has_candidate(p));
    // Outdated package lists may name versions that the server no longer has. If the installation fails, it is repeated with new lists.
    if known && process::run(&mut as_root("apt-get", &arguments)?).is_ok() {
        return Ok(());
    }
    process::run(&mut as_root("apt-get", &["update"])?)?;
    let unknown: Vec<&str> = missing.iter().copied().filter(|p| !has_candidate(p)).collect();
    if !unknown.is_empty() {
        bail!(
            "apt cannot find the packages {}: LLVM 22 is in Debian 12 (with updates) and later, and at https://apt.llvm.org",
            unknown.join(", ")
        );
    }
    process::run(&mut as_root("apt-get", &arguments)?).context("installing Debian packages")
}

/// Handles systems without apt: succeeds if LLVM is installed, and otherwise reports how to install it.
fn without_apt() -> Result<()> {
    let prefix = std::env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let config = Path::new(&prefix).join("bin").join("llvm-config");
    if config.is_file() {
        println!("LLVM 22: already installed ({prefix})");
        return Ok(());
    }
    bail!(
        "apt is not available; install these packages manually:\n\
         \x20 * LLVM 22 with MLIR and its C interface, Polly and libclang (Debian packages: {})\n\
         \x20 * a C++ compiler\n\
         and set MLIR_SYS_220_PREFIX and TABLEGEN_220_PREFIX to the prefix of LLVM, and LIBCLANG_PATH to the folder of libclang",
        PACKAGES.join(", ")
    )
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]).output();
    query.is_ok_and(|out| out.status.success() && out.stdout == b"installed")
}

/// Whether apt's package lists contain an installable version of a package.
fn has_candidate(package: &str) -> bool {
    let policy = Command::new("apt-cache").env("LC_ALL", "C").args(["policy", package]).output();
    policy.is_ok_and(|out| {
        let text = String::from_utf8_lossy(&out.stdout);
        text.lines().any(|l| l.trim().strip_prefix("Candidate:").is_some_and(|v| v.trim() != "(none)"))
    })
}

/// A non-interactive command with root privileges.
fn as_root(program: &str, arguments: &[&str]) -> Result<Command> {
    let root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    if !root && which("sudo").is_none() {
        bail!(
            "`{program} {}` needs root privileges, but sudo is not installed: run it as root",
            arguments.join(" ")
        );
    }
    let mut command = Command::new(if root { "env" } else { "sudo" });
    command.arg("DEBIAN_FRONTEND=noninteractive").arg(program).args(arguments);
    Ok(command)
}
