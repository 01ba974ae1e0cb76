//! Tests that cannot run here, and the switch that makes failures of them.
//!
//! A test that lacks something of the machine says `SKIPPED: ...` and passes, so that the others can be run anywhere.
//! Where the thing must be there, a skip would hide that it is not: `SHARDC_REQUIRE=mlir,cpu-plugin` turns those for
//! want of them into failures, `SHARDC_REQUIRE=all` every one. `cargo xtask test` sets it where `CI` is set.

use std::{env, fmt, io::Write as _};

/// The variable of the environment that lists what must be there.
pub const REQUIRE: &str = "SHARDC_REQUIRE";

/// What a test may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The data beside the checkout.
    Shared,
    /// A Python with the packages of `crates/xtask/python/requirements.txt`.
    Python,
    /// The PJRT plugin for CPUs.
    CpuPlugin,
    /// The PJRT plugin for TPUs.
    TpuPlugin,
    /// The PJRT plugin for GPUs of NVIDIA.
    CudaPlugin,
    /// LLVM, and a `shardc` that was built with it.
    Mlir,
    /// A package index that can be reached.
    Network,
    /// A user who may mount file systems.
    Mount,
}

impl Need {
    /// All of them.
    pub const ALL: [Need; 8] = [
        Need::Shared,
        Need::Python,
        Need::CpuPlugin,
        Need::TpuPlugin,
        Need::CudaPlugin,
        Need::Mlir,
        Need::Network,
        Need::Mount,
    ];

    /// Its word in `SHARDC_REQUIRE`, and in `REQUIRES:` lines of file tests.
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
        }
    }

    /// What a word stands for.
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

/// Says that something is not tested for want of `need`.
///
/// # Errors
/// It must be there: `SHARDC_REQUIRE` says so, or names what is not known.
pub fn skipped(need: Need, reason: &str) -> Result<(), String> {
    let list = env::var(REQUIRE).unwrap_or_default();
    if required(&list, need)? {
        return Err(format!("{reason} ({REQUIRE}={list} says that {need} is there)"));
    }
    let test = std::thread::current().name().filter(|name| *name != "main").map(|name| format!(" {name}"));
    // Past the test program, which hides what a test that passes prints.
    let line = format!("SKIPPED{}: {reason}\n", test.unwrap_or_default());
    let _ = std::io::stderr().write_all(line.as_bytes());
    Ok(())
}

/// Says that a test skips, for one that has no error to return.
///
/// # Panics
/// What is missing must be there.
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
                return Err(format!("{REQUIRE} names `{word}`, which is none of {known} and all"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_required() {
        assert_eq!(required("", Need::Shared), Ok(false));
        assert_eq!(required("mlir,cpu-plugin", Need::Mlir), Ok(true));
        assert_eq!(required("mlir, cpu-plugin", Need::CpuPlugin), Ok(true));
        assert_eq!(required("mlir", Need::Python), Ok(false));
        assert!(Need::ALL.into_iter().all(|need| required("all", need) == Ok(true)));
        assert!(
            required("llvm", Need::Mlir)
                .is_err_and(|error| error.contains("`llvm`, which is none of shared,"))
        );
    }
}
