//! Versions of StableHLO, and errors for artifacts of newer versions.

use std::fmt;
use std::str::FromStr;

use shardc_ir::{Class, Diagnostic};

use super::table;
use crate::codes;

/// A version of StableHLO: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u64; 3]);

impl Version {
    /// The oldest version with portable artifacts.
    pub const OLDEST: Version = Version([0, 9, 0]);
    /// The newest version that is read and written.
    pub const NEWEST: Version = Version(table::NEWEST);

    /// Returns the version of the bytecode format in which StableHLO writes artifacts of this version.
    pub(crate) fn bytecode(self) -> u64 {
        match self.0 {
            [0, ..=9, _] => 0,
            [0, 10..=11, _] => 1,
            [0, 12..=13, _] => 3,
            [0, 14, _] => 4,
            _ => 6,
        }
    }

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

impl FromStr for Version {
    type Err = Diagnostic;

    /// Parses `1.9.0`.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let mut numbers = text.split('.').map(|number| {
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| number.parse().ok()).flatten()
        });
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => {
                Ok(Version([major, minor, patch]))
            }
            _ => {
                let message = format!("`{text}` is not a version of StableHLO");
                Err(Diagnostic::invalid(codes::VERSION, message).hint("write a version such as 1.9.0"))
            }
        }
    }
}

/// Returns the version for which an artifact was written, from the name of its producer: `StableHLO_v1.9.0`.
pub(crate) fn written_by(producer: &str) -> Option<Version> {
    let (_, version) = producer.split_once("StableHLO_v")?;
    version.parse().ok()
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
