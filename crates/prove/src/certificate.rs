//! Certificates: for each value of a partitioned program, which block or partial result of which value of the original it is.
//!
//! A proof needs no certificate. But a program that is refuted may have been correct before another tool changed it: `changes` finds the
//! operation with the [marks](crate::marks) of the values before.

use serde::{Deserialize, Serialize};
use shardc_ir::{EntityRef, Module, OpId, OpKind, ValueId};

use crate::Options;
use crate::boundary::Boundary;
use crate::exact::Test;
use crate::marks::{self, Mark};

/// The meaning of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The term of the value, and its blocks, in words; empty if the operation was not evaluated.
    pub is: String,
    /// The mark of the value, if the program was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// An operation of the partitioned program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The name of the operation.
    pub operation: String,
    /// The user's location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The marks of the operands.
    pub operands: Vec<Option<Mark>>,
    /// The results.
    pub results: Vec<Claim>,
}

impl Step {
    pub(crate) fn is_return(&self) -> bool {
        self.operation.ends_with("return")
    }
}

/// The values of a partitioned program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The version of this format.
    pub version: u32,
    /// The mark of the results of the original; `None` if the programs were not run.
    pub original: Option<Mark>,
    /// The operations in the order of the program.
    pub steps: Vec<Step>,
}

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

impl Certificate {
    /// Describes a partitioned program; `describe` has the words for a value.
    pub(crate) fn new(
        original: &Module,
        partitioned: &Module,
        boundary: &Boundary,
        options: &Options,
        describe: impl Fn(ValueId) -> Option<String>,
    ) -> Certificate {
        let run = |work: u64| {
            let test = Test::new(original, boundary, work, &options.interrupt).ok()?;
            let (marks, is_ended) = marks::marks(&test, partitioned);
            is_ended.then(|| (marks::together(test.wanted()), marks))
        };
        let (all, marks) = match options.test_work.and_then(run) {
            Some((all, marks)) => (Some(all), marks),
            None => (None, vec![None; partitioned.values.len()]),
        };
        let mark = |value: &ValueId| marks[value.index()];
        let step = |op: OpId| {
            let data = &partitioned.ops[op];
            let claim =
                |value: &ValueId| Claim { is: describe(*value).unwrap_or_default(), mark: mark(value) };
            Step {
                operation: data.kind.name().to_owned(),
                location: partitioned.user_loc(op),
                operands: data.operands.iter().map(mark).collect(),
                results: data.results.iter().map(claim).collect(),
            }
        };
        let steps = steps_of(partitioned).map(step).collect();
        Certificate { version: VERSION, original: all, steps }
    }
}

/// Whether the regions of an operation are programs of their own.
pub(crate) fn is_flow(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::While
            | OpKind::If
            | OpKind::Case
            | OpKind::ManualComputation(_)
            | OpKind::NamedComputation(_)
    )
}

/// The operations of all functions and of the regions of control flow. A region of a reduction belongs to the reduction.
pub(crate) fn steps_of(module: &Module) -> impl Iterator<Item = OpId> {
    module.bodies().flat_map(|body| module.walk_where(body, is_flow))
}
