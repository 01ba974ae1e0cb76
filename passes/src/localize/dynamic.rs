//! Partitions `dynamic_slice` and `dynamic_update_slice` whose window is smaller than a sharded dimension.
//!
//! Along such a dimension, a window of `m` elements may lie in this device's block, in several blocks, or outside this block. Each device
//! operates on the *slab* of `min(m, block)` elements of its block that is closest to the window, and computes the distance of the slab
//! from the window's start. An in-place update then writes no other element of the block.

use shardc_ir::{
    AxisRef, BinaryOp, CompareDirection, CompareType, DType, DTypeClass, DYNAMIC, OpId, OpKind, PadSpec,
    ReductionKind, SizeList, ValueId,
};
use smallvec::SmallVec;

use super::Localizer;

/// A sharded dimension that is larger than the window.
struct Slab {
    dim: usize,
    /// The size of the window (the slice or the update) along the dimension.
    window: i64,
    /// The size of the slab: the smaller of the window size and the block size.
    size: i64,
    /// The start of the slab in the block, as a scalar.
    start: ValueId,
    /// The start of the slab minus the start of the window, in global indices, as a scalar.
    ahead: ValueId,
}

impl Localizer<'_> {
    /// Clamps the starts of a `dynamic_slice` along unsharded dimensions. The slice clamps them too, but if a second slice selects the
    /// device's block of the result, XLA merges the two and adds their unclamped starts. A one-element window is never sliced again.
    pub(super) fn keep_inside(&mut self, op: OpId) {
        let OpKind::DynamicSlice { sizes } = &self.rw.module.ops[op].kind else { return };
        let sizes = sizes.clone();
        let operand = self.rw.module.ops[op].operands[0];
        for (dim, &window) in sizes.iter().enumerate() {
            let size = self.rw.module.shape(operand)[dim];
            if size == DYNAMIC {
                continue;
            }
            let last = size - window;
            let Some(&start) = self.rw.module.ops[op].operands.get(1 + dim) else { continue };
            let is_constant = |def: OpId| matches!(self.rw.module.ops[def].kind, OpKind::Constant(_));
            if window < 2
                || last < 1
                || self.is_split(operand, dim)
                || self.rw.module.def_op(start).is_some_and(is_constant)
            {
                continue;
            }
            let Some(dtype) = self.rw.module.tensor(start).map(|t| t.dtype) else { continue };
            // If the index type is too narrow to represent `last`, no start can exceed it, but a start can be negative.
            let is_signed = dtype.class() == DTypeClass::Signed;
            let bits = dtype.bits() - u32::from(is_signed);
            let last = if bits < 63 { last.min((1 << bits) - 1) } else { last };
            if last < size - window && !is_signed {
                continue;
            }
            let zero = self.splat(&vec![0; dtype.bytes()], &[], dtype);
            let last = self.splat(&last.to_le_bytes()[..dtype.bytes().min(8)], &[], dtype);
            let ty = self.tensor_type(&[], dtype);
            let inside = self.emit(OpKind::Clamp, &[zero, start, last], ty);
            self.rw.module.ops[op].operands[1 + dim] = inside;
        }
    }

    /// Localizes a `dynamic_slice` whose planned result is unreduced: each device writes its part of the window into zeros. Returns false,
    /// without a change, if no sharded dimension is larger than the window.
    pub(super) fn partial_slice(&mut self, op: OpId) -> bool {
        let OpKind::DynamicSlice { mut sizes } = self.rw.module.ops[op].kind.clone() else { return false };
        let slabs = self.slabs(op, 1, &sizes);
        if slabs.is_empty() {
            return false;
        }
        let mut starts = self.rw.module.ops[op].operands.clone();
        for dim in self.whole_dims(starts[0], &sizes) {
            sizes[dim] = self.rw.module.shape(starts[0])[dim];
            starts[1 + dim] = self.i32_scalar(0);
        }
        let mut cut = sizes.clone();
        for slab in &slabs {
            starts[1 + slab.dim] = slab.start;
            cut[slab.dim] = slab.size;
        }
        self.alike(&mut starts[1..]);
        let operand = starts[0];
        let Some(dtype) = self.rw.module.tensor(operand).map(|t| t.dtype) else { return false };
        let ty = self.tensor_type(&cut, dtype);
        let slab = self.emit(OpKind::DynamicSlice { sizes: cut.clone() }, &starts, ty);

        // The slab is padded with zeros on both sides, by the width of the window. If the slab is far from the window, the start is
        // clamped to the margin, and the result is zero. With a narrower margin, every window would contain elements of the slab.
        let margin = |slab: &Slab| (slab.window, -1);
        let Some(value) = self.moved(slab, &slabs, margin, &sizes) else { return false };
        self.replace(value);
        true
    }

    /// Localizes a `dynamic_update_slice`: each device writes the part of the window in its block. Returns false, without a change, if no
    /// sharded dimension is larger than the window.
    pub(super) fn partial_update(&mut self, op: OpId) -> bool {
        let update = self.rw.module.ops[op].operands[1];
        let window = SizeList::from_slice(self.rw.module.shape(update));
        let global = self.global(update).map(|t| SizeList::from_slice(&t.shape)).unwrap_or_default();
        let slabs = self.slabs(op, 2, &global);
        if slabs.is_empty() {
            return false;
        }
        let mut starts = self.rw.module.ops[op].operands.clone();
        for dim in self.whole_dims(starts[0], &global) {
            starts[2 + dim] = self.i32_scalar(0);
        }
        let mut cut = window;
        for slab in &slabs {
            starts[2 + slab.dim] = slab.start;
            cut[slab.dim] = slab.size;
        }
        self.alike(&mut starts[2..]);
        let Some(dtype) = self.rw.module.tensor(update).map(|t| t.dtype) else { return false };
        let ty = self.tensor_type(&cut, dtype);
        let mut present: SmallVec<[ValueId; 4]> = starts.iter().copied().collect();
        present.remove(1);
        let present = self.emit(OpKind::DynamicSlice { sizes: cut.clone() }, &present, ty);

        // The margin is as wide as the slab, so a slab outside of the window reads no element of the update. The contents of the margin
        // are irrelevant: the select by `inside` keeps the elements of the block there.
        let margin = |slab: &Slab| (slab.size, 1);
        let Some(mut value) = self.moved(update, &slabs, margin, &cut) else { return false };
        for slab in &slabs {
            let inside = self.inside(slab, &cut);
            value = self.emit(OpKind::Select, &[inside, value, present], ty);
        }
        starts[1] = value;
        self.rw.module.ops[op].operands = starts;
        true
    }

    /// Returns the sharded dimensions that the window covers completely.
    fn whole_dims(&self, operand: ValueId, window: &[i64]) -> Vec<usize> {
        let Some(global) = self.global(operand) else { return Vec::new() };
        (0..window.len()).filter(|&d| self.is_split(operand, d) && window[d] == global.shape[d]).collect()
    }

    /// Returns the sharded dimensions of operand 0 that are larger than the window. The window starts are operands from `first` on.
    fn slabs(&mut self, op: OpId, first: usize, window: &[i64]) -> Vec<Slab> {
        let operand = self.rw.module.ops[op].operands[0];
        let Some(global) = self.global(operand).map(|t| t.shape.clone()) else { return Vec::new() };
        let blocks = self.rw.module.shape(operand).to_vec();
        let partial = |&d: &usize| self.is_split(operand, d) && window[d] < global[d];
        let dims: Vec<usize> = (0..window.len()).filter(partial).collect();
        let mut slabs = Vec::with_capacity(dims.len());
        for dim in dims {
            let (m, n, block) = (window[dim], global[dim], blocks[dim]);
            let size = m.min(block);
            let axes: Vec<AxisRef> = self.sharding(operand).map(|s| s.axes(dim).to_vec()).unwrap_or_default();
            // The start is clamped by the global size before it becomes local, so that no window reaches the padding of the last block.
            // Example: 8 elements over 4 devices, and a window of 3 elements from index 3. Device 1 has elements 2 and 3: its `start` is
            // 0 and its `ahead` is -1. For devices 0 and 3, `ahead` is -3 and 3, so their slabs are outside of the window.
            let start = self.start_within(self.rw.module.ops[op].operands[first + dim], n - m);
            let offset = self.offset(&axes, block);
            let scalar = self.tensor_type(&[], DType::I32);
            let subtract = OpKind::Binary(BinaryOp::Subtract);
            let local = self.emit(subtract.clone(), &[start, offset], scalar);
            let (zero, last) = (self.i32_scalar(0), self.i32_scalar(block - size));
            let start = self.emit(OpKind::Clamp, &[zero, local, last], scalar);
            let ahead = self.emit(subtract, &[start, local], scalar);
            slabs.push(Slab { dim, window: m, size, start, ahead });
        }
        slabs
    }

    /// Converts a start to `i32` and clamps it to `0..=most`, as StableHLO specifies.
    fn start_within(&mut self, start: ValueId, most: i64) -> ValueId {
        let dtype = self.rw.module.tensor(start).map_or(DType::I32, |t| t.dtype);
        let scalar = self.tensor_type(&[], DType::I32);
        let mut start = start;
        let mut wide = dtype;
        // A narrow type may be unable to represent the bound, and a value of a wide type may exceed `i32`.
        if dtype.bits() < 32 {
            start = self.emit(OpKind::Convert, &[start], scalar);
            wide = DType::I32;
        }
        let ty = self.tensor_type(&[], wide);
        let bounds: [ValueId; 2] = [0, most].map(|n| self.splat(&n.to_le_bytes()[..wide.bytes()], &[], wide));
        start = self.emit(OpKind::Clamp, &[bounds[0], start, bounds[1]], ty);
        if wide != DType::I32 {
            start = self.emit(OpKind::Convert, &[start], scalar);
        }
        start
    }

    /// Converts all starts to the same type; the starts of slabs are `i32`.
    fn alike(&mut self, starts: &mut [ValueId]) {
        let i32 = |pass: &Self, v: ValueId| pass.rw.module.tensor(v).is_some_and(|t| t.dtype == DType::I32);
        if starts.iter().all(|&v| i32(self, v)) {
            return;
        }
        let (scalar, wide) = (self.tensor_type(&[], DType::I32), self.tensor_type(&[], DType::I64));
        // Whether `i32` can represent every value of the type of `v`. If not, all starts are converted to `i64`.
        let narrow = |pass: &Self, v: ValueId| {
            pass.rw.module.tensor(v).is_some_and(|t| {
                t.dtype.bits() < 32 || (t.dtype.bits() == 32 && t.dtype.class() == DTypeClass::Signed)
            })
        };
        let ty = if starts.iter().all(|&v| narrow(self, v)) { scalar } else { wide };
        for start in starts {
            if self.rw.module.values[*start].ty != ty {
                *start = self.emit(OpKind::Convert, &[*start], ty);
            }
        }
    }

    /// Pads `value` with margins of zeros, and slices `sizes` elements at `sign * ahead` from its first element. `margin` returns
    /// the width of a slab's margins and `sign`.
    fn moved(
        &mut self,
        value: ValueId,
        slabs: &[Slab],
        margin: impl Fn(&Slab) -> (i64, i64),
        sizes: &[i64],
    ) -> Option<ValueId> {
        let ty = self.rw.module.tensor(value)?.clone();
        let sum = if ty.dtype == DType::I1 { ReductionKind::Or } else { ReductionKind::Add };
        let zero = self.identity_scalar(sum, ty.dtype)?;
        let mut sides = SizeList::from_elem(0, ty.rank());
        let mut shape = ty.shape.clone();
        let origin = self.i32_scalar(0);
        let scalar = self.tensor_type(&[], DType::I32);
        let mut starts = vec![origin; ty.rank()];
        for slab in slabs {
            let (width, sign) = margin(slab);
            sides[slab.dim] = width;
            shape[slab.dim] += 2 * width;
            let width = self.i32_scalar(width);
            let op = if sign < 0 { BinaryOp::Subtract } else { BinaryOp::Add };
            starts[slab.dim] = self.emit(OpKind::Binary(op), &[width, slab.ahead], scalar);
        }
        let interior = SizeList::from_elem(0, ty.rank());
        let spec = PadSpec { low: sides.clone(), high: sides, interior };
        let padded = self.tensor_type(&shape, ty.dtype);
        let padded = self.emit(OpKind::Pad(Box::new(spec)), &[value, zero], padded);
        let mut operands = vec![padded];
        operands.extend(starts);
        let cut = self.tensor_type(sizes, ty.dtype);
        Some(self.emit(OpKind::DynamicSlice { sizes: SizeList::from_slice(sizes) }, &operands, cut))
    }

    /// Returns a mask of shape `shape` that is true for the elements of the slab that are in the window.
    fn inside(&mut self, slab: &Slab, shape: &[i64]) -> ValueId {
        let ty = self.tensor_type(shape, DType::I32);
        let index = self.emit(OpKind::Iota { dim: slab.dim as u32 }, &[], ty);
        let ahead = self.broadcast_scalar(slab.ahead, shape, DType::I32);
        let index = self.emit(OpKind::Binary(BinaryOp::Add), &[index, ahead], ty);
        let (zero, end) = (self.i32_splat(0, shape), self.i32_splat(slab.window, shape));
        let pred = self.tensor_type(shape, DType::I1);
        let signed = Some(CompareType::Signed);
        let begun = self.emit(OpKind::Compare(CompareDirection::GE, signed), &[index, zero], pred);
        let ends = self.emit(OpKind::Compare(CompareDirection::LT, signed), &[index, end], pred);
        self.emit(OpKind::Binary(BinaryOp::And), &[begun, ends], pred)
    }
}
