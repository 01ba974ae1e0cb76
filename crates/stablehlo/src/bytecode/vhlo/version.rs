//! Versions of StableHLO, and errors for artifacts of newer versions.

use std::fmt;

use shardc_ir::{Class, Diagnostic};

use super::table;
use crate::codes;

/// A version of StableHLO: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) [u64; 3]);

impl Version {
    /// Whether this version may define operations, attributes or types that shardc does not know. Patch versions add nothing.
    fn is_newer(self) -> bool {
        self.0[..2] > table::NEWEST[..2]
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Returns the version for which an artifact was written, from the name of its producer: `StableHLO_v1.9.0`.
pub(crate) fn written_by(producer: &str) -> Option<Version> {
    let (_, version) = producer.split_once("StableHLO_v")?;
    let mut numbers = version.split('.');
    let mut next = || numbers.next()?.parse().ok();
    let version = Version([next()?, next()?, next()?]);
    numbers.next().is_none().then_some(version)
}

/// Checks that all VHLO operations of a file are known. `names` are the full names of the file's operations.
pub(crate) fn check_operations<'a>(
    producer: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), Diagnostic> {
    let unknown = |name: &&str| name.strip_prefix("vhlo.").is_some_and(|name| table::row(name).is_none());
    let mut names: Vec<&str> = names.into_iter().filter(unknown).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(MAX_NAMED);
    let list = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let list = if more == 0 { list } else { format!("{list} and {more} more") };
    let newest = Version(table::NEWEST);
    let what = if names.len() == 1 { "an operation that" } else { "operations that" };
    let message = match written_by(producer) {
        Some(version) => {
            format!(
                "this portable artifact of StableHLO {version} has {what} StableHLO up to {newest} does not define: {list}"
            )
        }
        None => format!("this bytecode has {what} StableHLO up to {newest} does not define: {list}"),
    };
    let mut error = Diagnostic::invalid(codes::UNKNOWN_OP, message);
    explain(&mut error, producer);
    Err(error)
}

/// The maximum number of unknown operations that a message lists.
const MAX_NAMED: usize = 8;

/// If the artifact was written for a version newer than [`table::NEWEST`], adds a hint with both versions to the error.
pub(crate) fn explain(error: &mut Diagnostic, producer: &str) {
    let Some(version) = written_by(producer).filter(|version| version.is_newer()) else { return };
    let newest = Version(table::NEWEST);
    error.class = Class::Unsupported;
    error.hint = Some(format!(
        "the file was written for StableHLO {version}, and shardc reads versions up to {newest}: write it for \
         {newest} or older (the target version of `serialize_portable_artifact`, or `--target={newest}` of \
         `stablehlo-translate`)"
    ));
}
