//! The result of a proof.

use std::collections::BTreeMap;

use shardc_ir::{Interruption, Span};

/// The answer about the partitioned program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It computes what the original computes, in exact arithmetic, for all inputs.
    Proven,
    /// It is not proven, but had the same results as the original in exact arithmetic for random inputs.
    Tested,
    /// It computes something else.
    Refuted,
    /// It is not known whether it computes what the original computes.
    NotDecided,
}

/// The evidence for [`Verdict::Refuted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// Results differ from those of the original for random inputs.
    Test,
    /// An output is related to the output of the original in a way that the boundary contradicts.
    Relation,
    /// The devices wait for each other without end.
    Deadlock,
    /// The programs cannot be run, but a value inside differs: operations of the partition compute another function than those of the original.
    /// Outputs may still agree if later operations ignore the elements that differ, or if the arguments of the operations never have values
    /// for which they differ.
    Intermediate,
}

/// The state of the proof of an output.
pub(crate) enum Output {
    Proven,
    Refuted { found: String, needed: String },
    Open { found: String, needed: String },
}

/// A place in the partitioned program that is not proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The operation.
    pub operation: String,
    /// Its position in the text of the partitioned program.
    pub span: Span,
    /// Its location in the user's program, if known.
    pub location: Option<String>,
    /// A description of its value.
    pub found: String,
    /// The needed value, or the reason for which nothing is known.
    pub needed: String,
    /// The outputs that depend on it.
    pub outputs: Vec<usize>,
}

/// The number of operations of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that compute a value of the original program, or a part of a proven output.
    pub proven: usize,
    /// Other operations that outputs depend on.
    pub not_decided: usize,
}

/// The result of a proof.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The evidence, if refuted.
    pub evidence: Option<Evidence>,
    /// For each output, whether it is proven.
    pub outputs: Vec<bool>,
    /// The number of operations by kind.
    pub kinds: BTreeMap<String, Counts>,
    /// The places that are not proven: in program order, or after a difference in the test the most likely first.
    pub places: Vec<Place>,
    /// The reason for which the program was not tested, if it was not.
    pub untested: Option<String>,
    /// The reason for which the places are not those that the certificate tells, if one was passed.
    pub certificate: Option<String>,
}

/// A reason for which nothing was checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program has no entry function with a body.
    #[error("the {0} program has no entry function")]
    NoEntry(&'static str),
    /// The boundary does not describe the programs.
    #[error("{0}")]
    Boundary(String),
    /// The check was cancelled, or its time limit is reached.
    #[error("{0}")]
    Interrupted(Interruption),
}
