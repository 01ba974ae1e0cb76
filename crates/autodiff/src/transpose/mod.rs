//! Transposition: from cotangents of results to cotangents of arguments.
//!
//! The tape is read backward. The cotangent of an operation's result is the sum of the contributions of its users. The operation's
//! [rule](rules) maps this cotangent to a contribution to the cotangent of each operand that is a tangent.

mod branches;
mod convergence;
mod elementwise_loop;
mod given;
mod loops;
mod manual;
mod offload;
mod once;
mod parts;
mod recompute;
mod residuals;
mod rules;
mod slots;

use rustc_hash::FxHashMap;
use shardc_ir::{BinaryOp, Diagnostic, OpId, RegionId, SecondaryMap, TensorBuild, UnaryOp, ValueId};
use smallvec::SmallVec;

use crate::checkpoint::Keep;
use crate::emit::Emit;
use crate::linearize::{Linear, Nested, Tape};

/// Cotangents of the values of a tape while it is read backward.
#[derive(Debug)]
pub(crate) struct Transposed<'l, 'm> {
    pub(crate) linear: &'l mut Linear<'m>,
    /// For each tangent, the contributions of its users, to be added or subtracted.
    asked: SecondaryMap<ValueId, SmallVec<[(Sign, ValueId); 1]>>,
    /// Maps values to their negations.
    negated: FxHashMap<ValueId, ValueId>,
    /// The operations that compute cotangents, in order.
    pub(crate) ops: Vec<OpId>,
}

/// Whether a contribution is added or subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

impl Sign {
    fn negated(self) -> Sign {
        match self {
            Sign::Plus => Sign::Minus,
            Sign::Minus => Sign::Plus,
        }
    }
}

impl<'l, 'm> Transposed<'l, 'm> {
    pub(crate) fn new(linear: &'l mut Linear<'m>) -> Self {
        Transposed { linear, asked: SecondaryMap::new(), negated: FxHashMap::default(), ops: Vec::new() }
    }

    /// Adds a contribution to the cotangent of `tangent`.
    pub(crate) fn ask(&mut self, tangent: ValueId, cotangent: ValueId) {
        self.ask_signed(tangent, Sign::Plus, cotangent);
    }

    /// Adds a contribution to the cotangent of `tangent`, or subtracts it, depending on `sign`.
    fn ask_signed(&mut self, tangent: ValueId, sign: Sign, cotangent: ValueId) {
        self.asked[tangent].push((sign, cotangent));
    }

    /// Removes and returns the cotangent of `tangent`: the sum of its contributions, computed at the location of `like`.
    pub(crate) fn take(&mut self, tangent: ValueId, like: OpId) -> Option<ValueId> {
        let (sign, sum) = self.take_signed(tangent, like)?;
        Some(self.signed(sign, sum, like))
    }

    /// Like [`Transposed::take`], but returns the sign separately: if possible, contributions are subtracted instead of negated.
    fn take_signed(&mut self, tangent: ValueId, like: OpId) -> Option<(Sign, ValueId)> {
        let mut asked = std::mem::take(&mut self.asked[tangent]);
        self.put_together(&mut asked, like);
        let first = asked.iter().position(|&(sign, _)| sign == Sign::Plus).unwrap_or(0);
        if asked.is_empty() {
            return None;
        }
        let (sign, first) = asked.remove(first);
        let mut emit = Emit::new(self.linear.module, &mut self.ops, like);
        let sum = asked.into_iter().fold(first, |sum, (of_next, next)| {
            emit.binary(if of_next == sign { BinaryOp::Add } else { BinaryOp::Subtract }, sum, next)
        });
        Some((sign, sum))
    }

    /// Returns `value`, or its negation if `sign` is [`Sign::Minus`].
    fn signed(&mut self, sign: Sign, value: ValueId, like: OpId) -> ValueId {
        if sign == Sign::Plus {
            return value;
        }
        let mut emit = Emit::new(self.linear.module, &mut self.ops, like);
        *self.negated.entry(value).or_insert_with(|| emit.unary(UnaryOp::Negate, value))
    }

    /// Reads the tape of a region backward, after contributions to its returned tangents were added. Afterwards, the region also contains
    /// the forward operations that the backward pass needs.
    ///
    /// # Errors
    /// Returns an error if an operation on the tape has no rule.
    pub(crate) fn tape(&mut self, tape: &Tape, region: RegionId) -> Result<(), Box<Diagnostic>> {
        let around = std::mem::take(&mut self.linear.insertions);
        for &op in tape.ops.iter().rev() {
            let results = self.linear.module.ops[op].results.clone();
            // For an operation with one result, a negative sign of the result's cotangent is passed on to the cotangents of the operands.
            if let (&[result], false) = (results.as_slice(), self.linear.nested.contains_key(&op)) {
                if let Some((mut sign, mut ct)) = self.take_signed(result, op) {
                    if sign == Sign::Minus && self.grows(op) {
                        (sign, ct) = (Sign::Plus, self.signed(sign, ct, op));
                    }
                    rules::transpose(self, op, &[Some(ct)], sign)?;
                }
                continue;
            }
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
                None => rules::transpose(self, op, &asked, Sign::Plus)?,
            }
        }
        self.linear.finish(region);
        self.linear.insertions = around;
        Ok(())
    }

    /// Whether the differentiable operands of an operation have more elements than its results, so that negating its results' cotangent is
    /// cheaper than negating the operands' cotangents.
    fn grows(&self, op: OpId) -> bool {
        let module = &*self.linear.module;
        let elements = |v: ValueId| module.tensor(v).and_then(|ty| ty.num_elements()).unwrap_or(i64::MAX);
        let data = &module.ops[op];
        let most = self.linear_operands(op).into_iter().map(|i| elements(data.operands[i])).max();
        data.results.first().is_some_and(|&result| most > Some(elements(result)))
    }

    /// Makes operations of the backward pass recompute the values of a region that the checkpointing policy does not save.
    pub(crate) fn recomputed(&mut self, region: RegionId, ops: Vec<OpId>) -> Vec<OpId> {
        let checkpoint = self.linear.checkpoint;
        if checkpoint.keep == Keep::Everything {
            return offload::offload(self, region, ops);
        }
        let needed = residuals::free_values(self.linear.module, region, &ops);
        let plan = residuals::plan(self.linear.module, region, &needed, &|_| true, checkpoint);
        let ops = recompute::place(self, &plan, FxHashMap::default(), ops);
        offload::offload(self, region, ops)
    }

    /// Emits operations with the location of `op`.
    pub(crate) fn emit(&mut self, op: OpId) -> Emit<'_> {
        Emit::new(self.linear.module, &mut self.ops, op)
    }

    /// The indices of an operation's operands that are tangents.
    pub(crate) fn linear_operands(&self, op: OpId) -> SmallVec<[usize; 2]> {
        let operands = &self.linear.module.ops[op].operands;
        (0..operands.len()).filter(|&i| self.linear.is_tangent(operands[i])).collect()
    }
}
