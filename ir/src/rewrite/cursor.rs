//! A cursor over regions, with which passes rewrite programs.

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::{ValueMap, clone_op};
use crate::{Build, LocId, Module, OpId, OpKind, RegionId, Span, TypeId, ValueId};

/// Walks and rewrites regions. Entered regions nest; the innermost one is the current region.
///
/// ```
/// # use shardc_ir::{Module, OpKind, RegionId, Rewriter};
/// /// Removes sharding constraints.
/// fn drop_constraints(rw: &mut Rewriter<'_>, region: RegionId) {
///     rw.enter(region);
///     while let Some(op) = rw.next_op() {
///         if let OpKind::ShardingConstraint(_) = rw.module.ops[op].kind {
///             let operand = rw.module.ops[op].operands[0];
///             rw.replace(&[operand]);
///         }
///         for inner in rw.module.ops[op].regions.clone() {
///             drop_constraints(rw, inner);
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Rewriter<'m> {
    /// The module that is rewritten. Until an entered region is left, its list of operations is empty.
    pub module: &'m mut Module,
    values: ValueMap,
    frames: Vec<Frame>,
    origin: (Span, PackedOption<LocId>),
}

/// An entered region. Its operations are in a gap buffer: visited operations are before the gap, others after it. Without insertions,
/// nothing is copied; with insertions, little is copied.
#[derive(Debug)]
struct Frame {
    region: RegionId,
    ops: Vec<OpId>,
    /// The index of the start of the gap, to which the next visited operation is written.
    write: usize,
    /// The index of the end of the gap, from which the next operation is read.
    read: usize,
    /// The current operation; the `bool` is true if it must still be written before the gap.
    current: Option<(OpId, bool)>,
}

/// A position among the inserted operations, for [`Rewriter::undo`].
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint(usize);

impl Frame {
    /// Writes an operation before the gap.
    fn put(&mut self, op: OpId) {
        if self.write == self.read {
            // The gap grows with the list, so insertion takes amortized constant time.
            let (len, gap) = (self.ops.len(), self.ops.len() / 8 + 8);
            self.ops.resize(len + gap, op);
            self.ops.copy_within(self.read..len, self.read + gap);
            self.read += gap;
        }
        self.ops[self.write] = op;
        self.write += 1;
    }

    fn put_current(&mut self) {
        if let Some((op, waits)) = &mut self.current
            && std::mem::take(waits)
        {
            let op = *op;
            self.put(op);
        }
    }
}

impl<'m> Rewriter<'m> {
    /// A rewriter that has entered no region.
    pub fn new(module: &'m mut Module) -> Self {
        Rewriter { module, values: ValueMap::new(), frames: Vec::new(), origin: Default::default() }
    }

    /// Enters a region at its start. [`Rewriter::next_op`] leaves it at its end.
    pub fn enter(&mut self, region: RegionId) {
        debug_assert!(self.frames.iter().all(|frame| frame.region != region), "a region is entered twice");
        // The frame takes the list out of the module, so that no incomplete list (with missing or repeated operations) is visible.
        let ops = std::mem::take(&mut self.module.regions[region].ops.0);
        self.frames.push(Frame { region, ops, write: 0, read: 0, current: None });
    }

    /// Walks a region in post-order and calls `at` for each operation.
    pub fn each_op(&mut self, region: RegionId, at: &mut dyn FnMut(&mut Self, OpId)) {
        self.enter(region);
        while let Some(op) = self.next_op() {
            for inner in self.module.ops[op].regions.clone() {
                self.each_op(inner, at);
            }
            at(self, op);
        }
    }

    /// Enters a region at its terminator, so that operations are inserted before it.
    pub fn enter_last(&mut self, region: RegionId) {
        self.enter(region);
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(&last) = frame.ops.last() {
            (frame.write, frame.read) = (frame.ops.len() - 1, frame.ops.len());
            frame.current = Some((last, true));
            self.values.rewrite(&mut self.module.ops[last].operands);
            self.at_origin_of(last);
        }
    }

    /// Advances to the next operation of the current region, and applies the recorded replacements to its operands. The previous operation
    /// stays, unless it was erased. Returns `None` after the last operation and leaves the region.
    pub fn next_op(&mut self) -> Option<OpId> {
        let frame = self.frames.last_mut()?;
        frame.put_current();
        let Some(&op) = frame.ops.get(frame.read) else {
            self.leave();
            return None;
        };
        frame.read += 1;
        frame.current = Some((op, true));
        self.values.rewrite(&mut self.module.ops[op].operands);
        self.at_origin_of(op);
        Some(op)
    }

    /// Leaves the current region with its written and remaining operations.
    pub fn leave(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        frame.put_current();
        let Frame { region, mut ops, write, read, .. } = frame;
        // The gap contains erased operations, or copies from `resize`; neither belongs to the program.
        ops.drain(write..read);
        self.module.set_ops(region, ops);
        // Later insertions belong to the region's parent operation.
        if let Some((op, _)) = self.frames.last().and_then(|frame| frame.current) {
            self.at_origin_of(op);
        }
    }

    /// Keeps the current operation; later insertions come after it.
    pub fn keep(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.put_current();
        }
    }

    /// Erases the current operation. Its results must have no uses or be replaced.
    pub fn erase(&mut self) {
        if let Some((_, waits)) = self.frames.last_mut().and_then(|frame| frame.current.as_mut()) {
            debug_assert!(*waits, "what was kept is erased");
            *waits = false;
        }
    }

    /// Erases the current operation and replaces its results by these values.
    pub fn replace(&mut self, values: &[ValueId]) {
        if let Some((op, _)) = self.frames.last().and_then(|frame| frame.current) {
            for (&old, &new) in self.module.ops[op].results.iter().zip(values) {
                let new = self.values.get(new);
                self.values.insert(old, new);
            }
        }
        self.erase();
    }

    /// Records that `new` replaces `old` in the operands of all operations that are visited from now on.
    pub fn stand_for(&mut self, old: ValueId, new: ValueId) {
        let new = self.values.get(new);
        self.values.insert(old, new);
    }

    /// Applies the recorded replacements to the operands of all operations in a region and in its nested regions.
    pub fn rewrite_under(&mut self, region: RegionId) {
        for op in self.module.walk(region) {
            self.values.rewrite(&mut self.module.ops[op].operands);
        }
    }

    /// Sets the location of new operations to that of `op` until the next operation is visited.
    pub fn at_origin_of(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        self.origin = (data.span, data.loc);
    }

    /// Inserts an operation with one result at the location of `like`.
    pub fn op1_like(&mut self, like: OpId, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        let origin = self.origin;
        self.at_origin_of(like);
        let value = self.op1(kind, operands, ty);
        self.origin = origin;
        value
    }

    /// A checkpoint at the current insertion position, for [`Rewriter::undo`].
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.frames.last().map_or(0, |frame| frame.write))
    }

    /// Removes all operations that were inserted into the current region since the checkpoint. The current operation must be the same as at
    /// the checkpoint, and [`Rewriter::keep`] must not have been called for it, so that the inserted operations are directly before it.
    pub fn undo(&mut self, to: Checkpoint) {
        if let Some(frame) = self.frames.last_mut() {
            debug_assert!(frame.current.is_none_or(|(_, waits)| waits), "what was kept is undone");
            frame.write = frame.write.min(to.0);
        }
    }

    /// Moves the operations of a region, except its terminator, to the current position. Returns the terminator's operands. Operands are
    /// not replaced: the region has been walked, or [`Rewriter::stand_for`] must not apply to it.
    pub fn splice(&mut self, region: RegionId) -> SmallVec<[ValueId; 3]> {
        let mut returned = SmallVec::new();
        for op in std::mem::take(&mut self.module.regions[region].ops.0) {
            match self.module.ops[op].kind {
                OpKind::Return => returned.clone_from(&self.module.ops[op].operands),
                _ => self.insert(op),
            }
        }
        returned
    }

    /// Copies the operations of a region, except its terminator, to the current position. Returns the copied return values. Operands are
    /// mapped by `map`, and copied values are added to it.
    pub fn splice_copy(&mut self, region: RegionId, map: &mut ValueMap) -> SmallVec<[ValueId; 3]> {
        let mut returned = SmallVec::new();
        for op in self.module.regions[region].ops.clone() {
            match self.module.ops[op].kind {
                OpKind::Return => {
                    returned = self.module.ops[op].operands.iter().map(|&v| map.get(v)).collect();
                }
                _ => {
                    let copy = clone_op(self.module, op, map);
                    self.insert(copy);
                }
            }
        }
        returned
    }
}

impl Build for Rewriter<'_> {
    fn module(&mut self) -> &mut Module {
        self.module
    }

    fn origin(&self) -> (Span, PackedOption<LocId>) {
        self.origin
    }

    fn insert(&mut self, op: OpId) {
        debug_assert!(!self.frames.is_empty(), "an operation is inserted where no region was entered");
        if let Some(frame) = self.frames.last_mut() {
            frame.put(op);
        }
    }
}

impl Drop for Rewriter<'_> {
    fn drop(&mut self) {
        while !self.frames.is_empty() {
            self.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{arg, func, push, region, ret, ty};
    use crate::{BinaryOp, UnaryOp, verify};

    /// A function that negates its argument `n` times.
    fn chain(n: usize) -> (Module, RegionId) {
        let mut module = Module::new();
        let body = region(&mut module, "2xf32");
        let mut value = arg(&module, body, 0);
        for _ in 0..n {
            let op = push(&mut module, body, OpKind::Unary(UnaryOp::Negate), &[value], "2xf32", &[]);
            value = module.ops[op].results[0];
        }
        ret(&mut module, body, &[value]);
        func(&mut module, "main", body);
        (module, body)
    }

    fn names(module: &Module, region: RegionId) -> Vec<String> {
        module.regions[region].ops.iter().map(|&op| module.ops[op].kind.name().to_string()).collect()
    }

    #[test]
    fn each_operation_is_seen_after_those_in_it() {
        let (mut module, inner) = chain(2);
        let outer = region(&mut module, "2xf32");
        let value = arg(&module, outer, 0);
        let case = push(&mut module, outer, OpKind::Case, &[value], "2xf32", &[inner]);
        let result = module.ops[case].results[0];
        ret(&mut module, outer, &[result]);
        let (mut seen, mut rw) = (Vec::new(), Rewriter::new(&mut module));
        rw.each_op(outer, &mut |rw, op| {
            seen.push(rw.module.ops[op].kind.name().to_string());
            if let (OpKind::Unary(_), &[operand]) =
                (&rw.module.ops[op].kind, rw.module.ops[op].operands.as_slice())
            {
                rw.replace(&[operand]);
            }
        });
        drop(rw);
        let expected = [
            "stablehlo.negate",
            "stablehlo.negate",
            "stablehlo.return",
            "stablehlo.case",
            "stablehlo.return",
        ];
        assert_eq!(seen, expected);
        assert_eq!((names(&module, inner).len(), names(&module, outer).len()), (1, 2));
    }

    #[test]
    fn operations_come_before_and_after_the_one_at_hand() {
        let (mut module, body) = chain(40);
        let f32s = ty(&mut module, "2xf32");
        let mut rw = Rewriter::new(&mut module);
        rw.enter(body);
        while let Some(op) = rw.next_op() {
            let &[operand] = rw.module.ops[op].operands.as_slice() else { continue };
            if matches!(rw.module.ops[op].kind, OpKind::Return) {
                continue;
            }
            let twice = rw.op1(OpKind::Binary(BinaryOp::Add), &[operand, operand], f32s);
            rw.module.ops[op].operands[0] = twice;
            rw.keep();
            let result = rw.module.ops[op].results[0];
            let root = rw.op1(OpKind::Unary(UnaryOp::Sqrt), &[result], f32s);
            rw.stand_for(result, root);
        }
        drop(rw);
        assert_eq!(verify(&module), Ok(()));
        let names = names(&module, body);
        assert_eq!(names.len(), 121);
        for three in names[..120].chunks(3) {
            assert_eq!(three, ["stablehlo.add", "stablehlo.negate", "stablehlo.sqrt"]);
        }
    }

    #[test]
    fn what_is_replaced_is_read_no_more() {
        let (mut module, body) = chain(3);
        let mut rw = Rewriter::new(&mut module);
        rw.enter(body);
        while let Some(op) = rw.next_op() {
            if let (OpKind::Unary(_), &[operand]) =
                (&rw.module.ops[op].kind, rw.module.ops[op].operands.as_slice())
            {
                rw.replace(&[operand]);
            }
        }
        drop(rw);
        assert_eq!(verify(&module), Ok(()));
        assert_eq!(names(&module, body), ["stablehlo.return"]);
    }

    #[test]
    fn a_rewriter_that_is_dropped_leaves_the_region_whole() {
        for visited in 0..6 {
            let (mut module, body) = chain(4);
            let before = module.regions[body].ops.to_vec();
            let mut rw = Rewriter::new(&mut module);
            rw.enter(body);
            for _ in 0..visited {
                rw.next_op();
            }
            drop(rw);
            assert_eq!(*module.regions[body].ops, *before, "after {visited}");
        }
    }

    #[test]
    fn what_is_undone_was_not_inserted() {
        let (mut module, body) = chain(2);
        let before = module.regions[body].ops.to_vec();
        let mut rw = Rewriter::new(&mut module);
        rw.enter(body);
        while rw.next_op().is_some() {
            let mark = rw.checkpoint();
            rw.splat(&[0; 4], &[], crate::DType::F32);
            rw.undo(mark);
        }
        drop(rw);
        assert_eq!(*module.regions[body].ops, *before);
    }
}
