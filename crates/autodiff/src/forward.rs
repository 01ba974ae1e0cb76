//! Forward mode: inserts the operations of tapes, which compute tangents, into the regions of the program.
//!
//! An operation of a tape is inserted directly after the definitions of its coefficients and tangents. A loop also carries the tangents
//! of its carried values; each branch also returns the tangents of its results.

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, InsertionPoint, Module, OpId, OpKind, RegionId, ValueId};

use crate::emit::{Arithmetic, Emit};
use crate::linearize::{Given, Linear, LoopTape, ManualTape, Nested, Tape};
use crate::replace::replace;

/// Inserts the operations of tapes into the regions whose tangents they compute.
#[derive(Debug)]
pub(crate) struct Forward<'l, 'm> {
    linear: &'l mut Linear<'m>,
    /// Maps results of operations on tapes to the values that replace them.
    instead: FxHashMap<ValueId, ValueId>,
}

impl<'l, 'm> Forward<'l, 'm> {
    pub(crate) fn new(linear: &'l mut Linear<'m>) -> Self {
        Forward { linear, instead: FxHashMap::default() }
    }

    /// Inserts the tape of a function's body, and the tapes of nested regions. Returns a map from results of operations on the tapes to the
    /// values that replace them.
    ///
    /// # Errors
    /// Returns an error if a custom rule supports only reverse mode.
    pub(crate) fn body(
        mut self,
        body: RegionId,
        tape: &Tape,
    ) -> Result<FxHashMap<ValueId, ValueId>, Box<Diagnostic>> {
        self.region(body, tape)?;
        let ops = self.linear.module.regions[body].ops.to_vec();
        replace(self.linear.module, &ops, &self.instead);
        Ok(self.instead)
    }

    /// Inserts the operations of a tape into `region`, whose tangents they compute.
    fn region(&mut self, region: RegionId, tape: &Tape) -> Result<(), Box<Diagnostic>> {
        let primal = self.linear.module.regions[region].ops.to_vec();
        let mut ops = Vec::with_capacity(primal.len() + tape.ops.len());
        let mut next = tape.ops.iter().zip(&tape.places).peekable();
        for (i, &op) in primal.iter().enumerate() {
            while let Some((&op, _)) = next.next_if(|(_, place)| **place <= i) {
                match self.linear.nested.remove(&op) {
                    Some(Nested::Branches { op: of, tapes }) => self.branches(op, of, &tapes)?,
                    Some(Nested::Loop(looped)) => self.looped(op, looped)?,
                    Some(Nested::Once { op: of, tape }) => self.once(op, of, &tape)?,
                    Some(Nested::Manual(tape)) => self.manual(op, tape)?,
                    Some(Nested::Given(given)) => return Err(backward_only(self.linear.module, op, &given)),
                    None => ops.push(op),
                }
            }
            ops.push(op);
        }
        self.linear.module.set_ops(region, ops);
        Ok(())
    }

    /// Makes the branches of `of` return tangents. New results of `of` replace the results of `choice`, which represents `of` on the tape.
    fn branches(&mut self, choice: OpId, of: OpId, tapes: &[Tape]) -> Result<(), Box<Diagnostic>> {
        let regions = self.linear.module.ops[of].regions.clone();
        for (&region, tape) in regions.iter().zip(tapes) {
            self.region(region, tape)?;
        }
        let tangents = self.linear.module.ops[choice].results.clone();
        for (i, &tangent) in tangents.iter().enumerate() {
            if tapes.iter().all(|tape| tape.returned[i].is_none()) {
                continue;
            }
            for (&region, tape) in regions.iter().zip(tapes) {
                self.return_more(region, tape.returned[i], tangent);
            }
            let ty = self.linear.module.values[tangent].ty;
            let result = self.linear.module.add_result(of, ty);
            self.instead.insert(tangent, result);
        }
        Ok(())
    }

    /// Makes the region of `of`, which runs once, return tangents. New results of `of` replace the results of `whole`, which represents
    /// `of` on the tape.
    fn once(&mut self, whole: OpId, of: OpId, tape: &Tape) -> Result<(), Box<Diagnostic>> {
        let region = self.linear.module.ops[of].regions[0];
        self.region(region, tape)?;
        let tangents = self.linear.module.ops[whole].results.clone();
        for (&tangent, returned) in tangents.iter().zip(&tape.returned) {
            if returned.is_some() {
                self.return_more(region, *returned, tangent);
                let ty = self.linear.module.values[tangent].ty;
                let result = self.linear.module.add_result(of, ty);
                self.instead.insert(tangent, result);
            }
        }
        Ok(())
    }

    /// Adds tangents to a manual computation: it takes the tangents of its operands, and returns the tangents of its results, which replace
    /// the results of `whole`, the operation on the tape. A tangent has the sharding of its operand or result.
    fn manual(&mut self, whole: OpId, manual: ManualTape) -> Result<(), Box<Diagnostic>> {
        let ManualTape { op, operands, args, tape } = manual;
        let region = self.linear.module.ops[op].regions[0];
        self.region(region, &tape)?;
        let OpKind::ManualComputation(mut spec) = self.linear.module.ops[op].kind.clone() else {
            return Ok(());
        };
        let given = self.linear.module.ops[whole].operands.clone();
        for ((&i, &tangent), &outside) in operands.iter().zip(&args).zip(&given) {
            let module = &mut *self.linear.module;
            module.ops[op].operands.push(outside);
            spec.in_shardings.push(spec.in_shardings[i]);
            let ty = module.values[tangent].ty;
            self.instead.insert(tangent, module.add_arg(region, ty));
        }
        let tangents = self.linear.module.ops[whole].results.clone();
        for (i, (&tangent, returned)) in tangents.iter().zip(&tape.returned).enumerate() {
            if returned.is_some() {
                self.return_more(region, *returned, tangent);
                spec.out_shardings.push(spec.out_shardings[i]);
                let ty = self.linear.module.values[tangent].ty;
                let result = self.linear.module.add_result(op, ty);
                self.instead.insert(tangent, result);
            }
        }
        self.linear.module.ops[op].kind = OpKind::ManualComputation(spec);
        Ok(())
    }

    /// Makes a loop carry tangents, which replace the operands and results of `whole`, the operation on the tape.
    fn looped(&mut self, whole: OpId, looped: LoopTape) -> Result<(), Box<Diagnostic>> {
        let LoopTape { op, carried, args, inits, tape, .. } = looped;
        let regions = self.linear.module.ops[op].regions.clone();
        let (cond, body) = (regions[0], regions[1]);
        self.region(body, &tape)?;
        let results = self.linear.module.ops[whole].results.clone();
        for (n, &i) in carried.iter().enumerate() {
            let ty = self.linear.module.values[args[n]].ty;
            let init = inits[n].unwrap_or_else(|| self.zeros_before(op, args[n]));
            self.linear.module.ops[op].operands.push(init);
            self.linear.module.add_arg(cond, ty);
            let arg = self.linear.module.add_arg(body, ty);
            self.instead.insert(args[n], arg);
            self.return_more(body, tape.returned[i], args[n]);
            let result = self.linear.module.add_result(op, ty);
            self.instead.insert(results[n], result);
        }
        Ok(())
    }

    /// Inserts zeros with the type of `value` before `op`.
    fn zeros_before(&mut self, op: OpId, value: ValueId) -> ValueId {
        let mut ops = Vec::new();
        let zeros = Emit::new(self.linear.module, &mut ops, op).zeros_like(value);
        for made in ops {
            self.linear.insertions.insert(&mut InsertionPoint::Before(op), made);
        }
        zeros
    }

    /// Adds an operand to the terminator of a region: `tangent`, or zeros with the type of `like` if the tangent is zero.
    fn return_more(&mut self, region: RegionId, tangent: Option<ValueId>, like: ValueId) {
        let module = &mut *self.linear.module;
        let Some(end) = module.terminator(region) else { return };
        let value = tangent.unwrap_or_else(|| {
            let mut ops = module.regions[region].ops.to_vec();
            ops.pop();
            let zeros = Emit::new(module, &mut ops, end).zeros_like(like);
            ops.push(end);
            module.set_ops(region, ops);
            zeros
        });
        module.ops[end].operands.push(value);
    }
}

/// The error for a rule that does not support forward mode.
fn backward_only(module: &Module, op: OpId, given: &Given) -> Box<Diagnostic> {
    let name = &module.funcs[given.backward].name;
    let text =
        format!("forward mode needs a JVP rule, but the operation with the backward rule @{name} has none");
    let hint = "use a JVP rule instead: it supports both modes";
    let mut error = Diagnostic::unsupported("SH1006", text).at(module.ops[op].span).hint(hint);
    error.user_loc = module.user_loc(op);
    Box::new(error)
}
