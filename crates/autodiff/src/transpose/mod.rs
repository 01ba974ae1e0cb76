//! Transposition: from changes of results to those of arguments.
//!
//! A tape is read backward. What an operation takes for each of its results is the sum of what their readers asked for; its
//! [rule](rules) says what of that goes to each operand that is a tangent.

mod branches;
mod given;
mod loops;
mod manual;
mod once;
mod recompute;
mod residuals;
mod rules;

use rustc_hash::FxHashMap;
use shardc_ir::{BinaryOp, Diagnostic, OpId, RegionId, SecondaryMap, TensorBuild, ValueId};
use smallvec::SmallVec;

use crate::checkpoint::Keep;
use crate::emit::Emit;
use crate::linearize::{Linear, Nested, Tape};

/// Cotangents of what a tape makes and takes, while it is read backward.
#[derive(Debug)]
pub(crate) struct Transposed<'l, 'm> {
    pub(crate) linear: &'l mut Linear<'m>,
    /// What readers of a tangent ask for, to be added.
    asked: SecondaryMap<ValueId, SmallVec<[ValueId; 1]>>,
    /// The operations that make cotangents, in order.
    pub(crate) ops: Vec<OpId>,
}

impl<'l, 'm> Transposed<'l, 'm> {
    pub(crate) fn new(linear: &'l mut Linear<'m>) -> Self {
        Transposed { linear, asked: SecondaryMap::new(), ops: Vec::new() }
    }

    /// A reader of `tangent` asks for this much of its change.
    pub(crate) fn ask(&mut self, tangent: ValueId, cotangent: ValueId) {
        self.asked[tangent].push(cotangent);
    }

    /// What all readers of `tangent` ask for together, made for `like`.
    pub(crate) fn take(&mut self, tangent: ValueId, like: OpId) -> Option<ValueId> {
        let asked = std::mem::take(&mut self.asked[tangent]);
        let mut asked = asked.into_iter();
        let first = asked.next()?;
        let mut emit = Emit::new(self.linear.module, &mut self.ops, like);
        Some(asked.fold(first, |sum, next| emit.binary(BinaryOp::Add, sum, next)))
    }

    /// Reads the tape of a region backward; the cotangents of what it returns have been asked for. What the region is to do for
    /// that stands in it afterwards.
    ///
    /// # Errors
    /// An operation on it has no rule.
    pub(crate) fn tape(&mut self, tape: &Tape, region: RegionId) -> Result<(), Box<Diagnostic>> {
        let around = std::mem::take(&mut self.linear.insertions);
        for &op in tape.ops.iter().rev() {
            let results = self.linear.module.ops[op].results.clone();
            let asked: SmallVec<[Option<ValueId>; 1]> = results.iter().map(|&v| self.take(v, op)).collect();
            if asked.iter().all(Option::is_none) {
                continue;
            }
            match self.linear.nested.remove(&op) {
                Some(Nested::Branches { op: of, tapes }) => {
                    branches::transpose(self, op, of, &tapes, &asked)?;
                }
                Some(Nested::Once { op: of, tape }) => once::transpose(self, op, of, &tape, &asked)?,
                Some(Nested::Manual(tape)) => manual::transpose(self, op, &tape, &asked)?,
                Some(Nested::Given(given)) => given::transpose(self, op, &given, &asked),
                Some(Nested::Loop(looped)) => loops::transpose(self, op, &looped, &asked)?,
                None => rules::transpose(self, op, &asked)?,
            }
        }
        self.linear.finish(region);
        self.linear.insertions = around;
        Ok(())
    }

    /// Lets what comes after a region compute again what the policy of checkpointing does not keep of it.
    pub(crate) fn recomputed(&mut self, region: RegionId, ops: Vec<OpId>) -> Vec<OpId> {
        let keep = self.linear.checkpoint.keep.clone();
        if keep == Keep::Everything {
            return ops;
        }
        let needed = residuals::free_values(self.linear.module, region, &ops);
        let plan = residuals::plan(self.linear.module, region, &needed, &|_| true, &keep);
        recompute::place(self, &plan, FxHashMap::default(), ops)
    }

    /// Writes what comes from where `op` comes from.
    pub(crate) fn emit(&mut self, op: OpId) -> Emit<'_> {
        Emit::new(self.linear.module, &mut self.ops, op)
    }

    /// The tangents among the operands of an operation, by their places.
    pub(crate) fn linear_operands(&self, op: OpId) -> SmallVec<[usize; 2]> {
        let operands = &self.linear.module.ops[op].operands;
        (0..operands.len()).filter(|&i| self.linear.is_tangent(operands[i])).collect()
    }
}
