//! Deferred insertions at arbitrary positions.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::ValueMap;
use crate::{Module, OpId, OpKind, RegionId, ValueDef, ValueId};

/// A point at which operations are inserted, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum InsertionPoint {
    /// Before an operation, and after earlier insertions at the same point.
    Before(OpId),
    /// After an operation, and after the given number of earlier insertions at the same point.
    After(OpId, usize),
    /// At the start of a region, and after the given number of earlier insertions at the same point.
    Start(RegionId, usize),
}

impl InsertionPoint {
    /// The point right after the definition of a value, before all insertions at the same point.
    #[must_use]
    pub fn behind(module: &Module, value: ValueId) -> InsertionPoint {
        match module.values[value].def() {
            ValueDef::Result(op, _) => InsertionPoint::After(op, 0),
            ValueDef::Arg(region, _) => InsertionPoint::Start(region, 0),
        }
    }

    /// The point after the definition of a value, and after all insertions at the same point.
    #[must_use]
    pub fn last_behind(module: &Module, value: ValueId) -> InsertionPoint {
        match InsertionPoint::behind(module, value) {
            InsertionPoint::After(op, _) => InsertionPoint::After(op, usize::MAX),
            InsertionPoint::Start(region, _) => InsertionPoint::Start(region, usize::MAX),
            InsertionPoint::Before(op) => InsertionPoint::Before(op),
        }
    }
}

/// Pending insertions. Nothing moves until [`Insertions::apply`], so passes may inspect the program in any order meanwhile.
#[derive(Debug, Default)]
pub struct Insertions {
    before: FxHashMap<OpId, Vec<OpId>>,
    after: FxHashMap<OpId, Vec<OpId>>,
    start: FxHashMap<RegionId, Vec<OpId>>,
    moved: FxHashSet<OpId>,
}

impl Insertions {
    /// Whether there are no pending insertions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty() && self.start.is_empty()
    }

    /// Inserts an operation; the next operation that is inserted at the same point follows it.
    pub fn insert(&mut self, at: &mut InsertionPoint, op: OpId) {
        let (list, i) = match at {
            InsertionPoint::Before(next) => return self.before.entry(*next).or_default().push(op),
            InsertionPoint::After(previous, i) => (self.after.entry(*previous).or_default(), i),
            InsertionPoint::Start(region, i) => (self.start.entry(*region).or_default(), i),
        };
        // `usize::MAX` means after all insertions made so far.
        *i = list.len().min(*i);
        list.insert(*i, op);
        *i += 1;
    }

    /// Moves an operation that is in a region. An operation may be moved only once; operations that are inserted before or after it move
    /// with it.
    pub fn move_to(&mut self, at: &mut InsertionPoint, op: OpId) {
        self.moved.insert(op);
        self.insert(at, op);
    }

    /// Moves the operations of a region, except its terminator, to an insertion point. Returns the terminator's operands. The region must
    /// not be needed afterwards.
    pub fn splice(
        &mut self,
        module: &mut Module,
        at: &mut InsertionPoint,
        region: RegionId,
    ) -> SmallVec<[ValueId; 3]> {
        let mut returned = SmallVec::new();
        for op in std::mem::take(&mut module.regions[region].ops.0) {
            match module.ops[op].kind {
                OpKind::Return => returned.clone_from(&module.ops[op].operands),
                _ => self.insert(at, op),
            }
        }
        returned
    }

    /// Applies all insertions in `region` and its nested regions, and removes the operations for which `gone` returns true. Operands are
    /// replaced according to `values`, except operands of inserted operations. An insertion point may be before or after an inserted
    /// operation.
    pub fn apply(
        mut self,
        module: &mut Module,
        region: RegionId,
        values: &ValueMap,
        gone: impl Fn(OpId) -> bool,
    ) {
        self.apply_to(module, vec![region], values, gone);
    }

    /// Like [`Insertions::apply`], for several regions, none of which is nested in another.
    pub fn apply_to(
        &mut self,
        module: &mut Module,
        mut regions: Vec<RegionId>,
        values: &ValueMap,
        gone: impl Fn(OpId) -> bool,
    ) {
        /// A step of the traversal. `Around` is an operation with the insertions before and after it, and `Itself` the operation alone; the
        /// `bool` is true if the operation was inserted.
        enum Step {
            Around(OpId, bool),
            Itself(OpId, bool),
        }
        let new = |ops: Option<Vec<OpId>>| ops.into_iter().flatten().rev().map(|op| Step::Around(op, true));
        let mut stack: Vec<Step> = Vec::new();
        while let Some(region) = regions.pop() {
            let old = std::mem::take(&mut module.regions[region].ops.0);
            let mut out = Vec::with_capacity(old.len());
            // The operations are pushed in reverse order, as in `new`, since the stack is last in, first out.
            let stays = old.into_iter().rev().filter(|op| !self.moved.contains(op));
            stack.extend(stays.map(|op| Step::Around(op, false)));
            stack.extend(new(self.start.remove(&region)));
            while let Some(step) = stack.pop() {
                match step {
                    Step::Itself(op, _) if gone(op) => {}
                    Step::Itself(op, is_new) => {
                        if !is_new {
                            values.rewrite(&mut module.ops[op].operands);
                        }
                        // The regions of inserted operations are visited too, since they may contain insertion points.
                        regions.extend(&module.ops[op].regions);
                        out.push(op);
                    }
                    Step::Around(op, is_new) => {
                        stack.extend(new(self.after.remove(&op)));
                        stack.push(Step::Itself(op, is_new));
                        stack.extend(new(self.before.remove(&op)));
                    }
                }
            }
            module.set_ops(region, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{arg, func, push, region, ret};
    use crate::{BinaryOp, UnaryOp, verify};

    fn unary(module: &mut Module, op: UnaryOp, value: ValueId) -> OpId {
        let ty = module.values[value].ty;
        module.add_op(OpKind::Unary(op), &[value], &[ty], &[])
    }

    fn names(module: &Module, region: RegionId) -> Vec<&str> {
        let ops = module.regions[region].ops.iter();
        ops.map(|&op| module.ops[op].kind.name().trim_start_matches("stablehlo.")).collect()
    }

    #[test]
    fn what_comes_behind_a_value_first_stands_last() {
        let mut module = Module::new();
        let body = region(&mut module, "f32");
        let x = arg(&module, body, 0);
        let negate = push(&mut module, body, OpKind::Unary(UnaryOp::Negate), &[x], "f32", &[]);
        let y = module.ops[negate].results[0];
        ret(&mut module, body, &[y]);
        func(&mut module, "main", body);

        let [sine, cosine, sqrt] = [(UnaryOp::Sine, x), (UnaryOp::Cosine, x), (UnaryOp::Sqrt, y)]
            .map(|(op, v)| unary(&mut module, op, v));
        let mut insertions = Insertions::default();
        insertions.insert(&mut InsertionPoint::behind(&module, x), sine);
        insertions.insert(&mut InsertionPoint::behind(&module, x), cosine);
        insertions.insert(&mut InsertionPoint::behind(&module, y), sqrt);
        let mut values = ValueMap::new();
        values.insert(y, module.ops[sqrt].results[0]);
        insertions.apply(&mut module, body, &values, |_| false);

        assert_eq!(names(&module, body), ["cosine", "sine", "negate", "sqrt", "return"]);
        // Inserted operations keep their operands.
        assert_eq!(module.ops[sqrt].operands[0], y);
        assert_eq!(verify(&module), Ok(()));
    }

    #[test]
    fn what_moves_takes_along_what_is_next_to_it() {
        let mut module = Module::new();
        let body = region(&mut module, "f32");
        let x = arg(&module, body, 0);
        let negate = push(&mut module, body, OpKind::Unary(UnaryOp::Negate), &[x], "f32", &[]);
        let y = module.ops[negate].results[0];
        let sine = push(&mut module, body, OpKind::Unary(UnaryOp::Sine), &[x], "f32", &[]);
        let add = push(&mut module, body, OpKind::Binary(BinaryOp::Add), &[x, y], "f32", &[]);
        let sum = module.ops[add].results[0];
        ret(&mut module, body, &[sum]);
        func(&mut module, "main", body);

        let cosine = unary(&mut module, UnaryOp::Cosine, x);
        let mut insertions = Insertions::default();
        insertions.move_to(&mut InsertionPoint::Start(body, 0), sine);
        insertions.insert(&mut InsertionPoint::Before(sine), cosine);
        insertions.apply(&mut module, body, &ValueMap::new(), |_| false);

        assert_eq!(names(&module, body), ["cosine", "sine", "negate", "add", "return"]);
        assert_eq!(verify(&module), Ok(()));
    }
}
