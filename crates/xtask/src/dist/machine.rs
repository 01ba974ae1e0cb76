//! The machines that programs are built for.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    process,
    workspace::{Workspace, cargo, which},
};

/// Links identical functions once. LLD can do that, which Rust uses on x86-64.
const FOLD: &str = "-Clink-arg=-Wl,--icf=all";

/// A machine, by its Rust target.
pub(super) struct Machine {
    /// The target, such as `x86_64-unknown-linux-gnu`.
    pub(super) triple: String,
    is_host: bool,
}

impl Machine {
    /// This machine.
    pub(super) fn host() -> Result<Self> {
        let shown = process::output(Command::new("rustc").arg("-vV"))?;
        let host = shown.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(Machine { triple: host.context("`rustc -vV` names no host")?.to_owned(), is_host: true })
    }

    /// The machine of a Rust target, for which `rustup target add` has installed the standard library.
    pub(super) fn of(triple: &str) -> Result<Self> {
        let host = Machine::host()?;
        Ok(if host.triple == triple { host } else { Machine { triple: triple.to_owned(), is_host: false } })
    }

    /// The name of the processor, such as `x86_64`.
    fn processor(&self) -> &str {
        self.triple.split('-').next().unwrap_or(&self.triple)
    }

    /// The name of the machine in Debian.
    pub(super) fn debian(&self) -> &str {
        match self.processor() {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// The `--target` of Cargo and maturin, for another machine than this one.
    pub(super) fn target(&self) -> Option<&str> {
        (!self.is_host).then_some(&*self.triple)
    }

    /// A tool of the GNU binutils or compilers for the machine, such as `gcc`.
    fn tool(&self, name: &str) -> String {
        if self.is_host { name.to_owned() } else { format!("{}-linux-gnu-{name}", self.processor()) }
    }

    /// Removes the symbols of a program or shared library. With `strip` in the profile, Cargo leaves those of some programs.
    pub(super) fn strip(&self, file: &Path) -> Result<()> {
        process::run(Command::new(self.tool("strip")).arg(file))
    }

    /// Removes debug information and LLVM's bitcode, more than half of it, from a static library.
    pub(super) fn strip_static(&self, file: &Path) -> Result<()> {
        let bitcode = ["--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
        process::run(Command::new(self.tool("objcopy")).arg("--strip-debug").args(bitcode).arg(file))
    }

    /// Makes a command of Cargo, or one that runs Cargo, build for the machine.
    pub(super) fn selects(&self, command: &mut Command) {
        if let Some(target) = self.target() {
            command.args(["--target", target]);
            let gcc = self.tool("gcc");
            let variable = format!("CARGO_TARGET_{}_LINKER", self.triple.to_uppercase().replace('-', "_"));
            if which(&gcc).is_some() && env::var_os(&variable).is_none() {
                command.env(variable, gcc);
            }
        }
    }

    /// Builds the program and the C library with a profile of Cargo; returns their folder.
    pub(super) fn build(&self, workspace: &Workspace, profile: &str) -> Result<PathBuf> {
        let build = |arguments: &[&str], last: &[&str]| {
            let mut command = cargo();
            command.current_dir(&workspace.root).args(arguments).args(["--profile", profile]);
            self.selects(&mut command);
            process::run(command.args(last))
        };
        process::step(&format!("build for {}", self.triple), || {
            let last: &[&str] = if self.processor() == "x86_64" { &["--", FOLD] } else { &[] };
            build(&["rustc", "--package", "shardc-cli", "--bin", "shardc"], last)?;
            build(&["build", "--package", "shardc-capi"], &[])
        })?;
        Ok(workspace.built_for(self.target(), profile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_has_a_target_and_a_linker() {
        let arm = Machine { triple: "aarch64-unknown-linux-gnu".to_owned(), is_host: false };
        let mut build = Command::new("cargo");
        arm.selects(&mut build);
        let arguments: Vec<_> = build.get_args().collect();
        assert_eq!(arguments, ["--target", "aarch64-unknown-linux-gnu"]);
        assert_eq!(arm.debian(), "arm64");
        assert_eq!(Machine::host().unwrap().target(), None);
    }
}
