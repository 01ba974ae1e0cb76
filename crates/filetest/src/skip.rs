//! Tests that cannot run on this machine, and the variable that turns skips into failures.
//!
//! A test that needs a resource that is missing on the machine prints `SKIPPED: ...` and passes. To detect missing resources,
//! `SHARDC_REQUIRE=mlir,cpu-plugin` turns skips because of these two resources into failures, and `SHARDC_REQUIRE=all` turns all skips into
//! failures. `cargo xtask test` sets the variable if `CI` is set.

use std::{env, fmt, io::Write as _};

/// The environment variable that lists the resources that must be available.
pub const REQUIRE: &str = "SHARDC_REQUIRE";

/// A resource that a test may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The folder of shared data.
    Shared,
    /// A Python installation with the packages of `crates/xtask/python/requirements.txt`.
    Python,
    /// The PJRT plugin for CPUs.
    CpuPlugin,
    /// The PJRT plugin for TPUs.
    TpuPlugin,
    /// The PJRT plugin for NVIDIA GPUs.
    CudaPlugin,
    /// LLVM with MLIR.
    Mlir,
    /// A reachable package index.
    Network,
    /// Permission to mount file systems.
    Mount,
    /// A headless Chromium.
    Browser,
    /// A C and C++ compiler with CMake and Valgrind.
    Cxx,
}

impl Need {
    /// All resources.
    pub const ALL: [Need; 10] = [
        Need::Shared,
        Need::Python,
        Need::CpuPlugin,
        Need::TpuPlugin,
        Need::CudaPlugin,
        Need::Mlir,
        Need::Network,
        Need::Mount,
        Need::Browser,
        Need::Cxx,
    ];

    /// The name of the resource in `SHARDC_REQUIRE`, and in `REQUIRES:` lines of file tests.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Need::Shared => "shared",
            Need::Python => "python",
            Need::CpuPlugin => "cpu-plugin",
            Need::TpuPlugin => "tpu-plugin",
            Need::CudaPlugin => "cuda-plugin",
            Need::Mlir => "mlir",
            Need::Network => "network",
            Need::Mount => "mount",
            Need::Browser => "browser",
            Need::Cxx => "c++",
        }
    }

    /// The resource that [`Need::word`] names `word`.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Need> {
        Need::ALL.into_iter().find(|need| need.word() == word)
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Reports that a test is skipped because `need` is missing.
///
/// # Errors
/// `SHARDC_REQUIRE` requires the missing resource, or lists an unknown resource.
pub fn skipped(need: Need, reason: &str) -> Result<(), String> {
    let list = env::var(REQUIRE).unwrap_or_default();
    if required(&list, need)? {
        return Err(format!("{reason} ({REQUIRE}={list} requires {need})"));
    }
    let test = std::thread::current().name().filter(|name| *name != "main").map(|name| format!(" {name}"));
    // Writes to standard error directly, because the test harness hides the output of passing tests.
    let line = format!("SKIPPED{}: {reason}\n", test.unwrap_or_default());
    let _ = std::io::stderr().write_all(line.as_bytes());
    Ok(())
}

/// Reports a skip, for a test that cannot return an error.
///
/// # Panics
/// `SHARDC_REQUIRE` requires the missing resource.
#[track_caller]
pub fn skip(need: Need, reason: &str) {
    let outcome = skipped(need, reason);
    assert!(outcome.is_ok(), "{}", outcome.err().unwrap_or_default());
}

fn required(list: &str, need: Need) -> Result<bool, String> {
    let mut found = false;
    for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
        match Need::from_word(word) {
            Some(named) => found |= named == need,
            None if word == "all" => found = true,
            None => {
                let known = Need::ALL.map(Need::word).join(", ");
                return Err(format!("{REQUIRE}: unknown resource `{word}`, expected {known} or all"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_needs_are_required() {
        assert_eq!(required("", Need::Shared), Ok(false));
        assert_eq!(required("mlir,cpu-plugin", Need::Mlir), Ok(true));
        assert_eq!(required("mlir, cpu-plugin", Need::CpuPlugin), Ok(true));
        assert_eq!(required("mlir", Need::Python), Ok(false));
        assert!(Need::ALL.into_iter().all(|need| required("all", need) == Ok(true)));
        assert!(
            required("llvm", Need::Mlir)
                .is_err_and(|error| error.contains("unknown resource `llvm`, expected shared,"))
        );
    }
}
