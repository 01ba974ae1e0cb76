//! The messages of the build script if the feature `mlir` finds no usable LLVM.

#[path = "../build/llvm.rs"]
mod llvm;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

const PACKAGES: &str = "install LLVM 22 with MLIR: on Debian 12 and later, `apt-get install libmlir-22-dev llvm-22-dev \
     libclang-22-dev libpolly-22-dev mlir-22-tools libzstd-dev zlib1g-dev g++`";
const VARIABLES: &str = "set MLIR_SYS_220_PREFIX and TABLEGEN_220_PREFIX to the install prefix of LLVM 22 (on Debian \
     /usr/lib/llvm-22) and LIBCLANG_PATH to the directory of libclang (/usr/lib/llvm-22/lib), in the environment or in \
     [env] of .cargo/config.toml; or build shardc without the feature `mlir`";

/// A machine with the properties that a test sets.
#[derive(Default)]
struct Machine {
    variables: BTreeMap<&'static str, &'static str>,
    /// The installed LLVMs: their `llvm-config`, version, and whether they include MLIR.
    llvms: BTreeMap<&'static str, (&'static str, bool)>,
}

impl Machine {
    fn with(mut self, config: &'static str, version: &'static str, has_mlir: bool) -> Self {
        self.llvms.insert(config, (version, has_mlir));
        self
    }

    fn named(mut self, prefix: &'static str) -> Self {
        self.variables.extend(llvm::PREFIXES.map(|variable| (variable, prefix)));
        self
    }
}

impl llvm::Machine for Machine {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name).map(OsString::from)
    }

    fn answer(&self, program: &Path, argument: &str) -> Option<String> {
        let program = program.to_str()?;
        let (version, _) = self.llvms.get(program)?;
        Some(match argument {
            "--version" => (*version).to_owned(),
            _ => format!("{program}.headers"),
        })
    }

    fn has(&self, file: &Path) -> bool {
        let Some(file) = file.to_str() else { return false };
        let headers = file.strip_suffix(".headers/mlir-c/IR.h");
        headers.map_or(self.llvms.contains_key(file), |config| {
            self.llvms.get(config).is_some_and(|(_, has_mlir)| *has_mlir)
        })
    }
}

#[test]
fn missing_llvm_reports_packages_and_variables() {
    let errors = llvm::errors(&Machine::default());
    assert_eq!(
        errors,
        [
            "MLIR_SYS_220_PREFIX is not set: cannot run llvm-config",
            "TABLEGEN_220_PREFIX is not set: cannot run llvm-config",
            PACKAGES,
            VARIABLES
        ]
    );
}

#[test]
fn another_version_is_rejected() {
    let errors = llvm::errors(&Machine::default().with("llvm-config", "14.0.6", true));
    assert_eq!(errors[0], "MLIR_SYS_220_PREFIX is not set: llvm-config has version 14.0.6, expected LLVM 22");
    assert_eq!(errors[2..], [PACKAGES, VARIABLES]);
}

#[test]
fn an_llvm_without_mlir_is_rejected() {
    let machine = Machine::default().with("/opt/llvm/bin/llvm-config", "22.1.0", false).named("/opt/llvm");
    let errors = llvm::errors(&machine);
    assert_eq!(
        errors[0],
        "MLIR_SYS_220_PREFIX=/opt/llvm: /opt/llvm/bin/llvm-config.headers does not contain mlir-c/IR.h: this LLVM was installed without MLIR"
    );
    assert_eq!(errors.len(), 4);
}

#[test]
fn an_installed_llvm_is_only_named() {
    let errors = llvm::errors(&Machine::default().with("/usr/lib/llvm-22/bin/llvm-config", "22.1.0", true));
    assert_eq!(errors.len(), 3);
    assert_eq!(errors[2], VARIABLES, "no package is missing");
}

#[test]
fn an_llvm_with_mlir_is_accepted() {
    let installed = || Machine::default().with("/usr/lib/llvm-22/bin/llvm-config", "22.1.0", true);
    assert_eq!(llvm::errors(&installed().named("/usr/lib/llvm-22")), [""; 0]);
    assert_eq!(llvm::errors(&Machine::default().with("llvm-config", "22.1.0", true)), [""; 0], "on the path");
}
