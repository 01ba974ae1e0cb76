//! Partitions slices of few rows whose result is unreduced (see `plan/decide/few_rows.rs`).
//!
//! If the operand is sharded along the sliced dimension and the result is not, planning has made the result unreduced. Each device
//! provides the rows of its block, and zeros elsewhere. A select is used instead of a multiplication by zero, since the padding of a
//! block may contain any value.

use shardc_ir::{
    AxisRef, CompareDirection, CompareType, DType, OpId, OpKind, SizeList, SliceSpec, Type, ValueId,
};

use super::Localizer;
use super::exchange::Line;
use crate::analysis::reducer::exact_zero;
use crate::windows::{Span, held_of_slice, is_windowed};

impl Localizer<'_> {
    /// Slices first along the dimensions that need no elements of other devices, so that halo exchanges along the other dimensions send
    /// less. Returns true if the slice is then complete, so that no other dimension has to be sliced.
    pub(super) fn own_rows(&mut self, op: OpId) -> bool {
        let OpKind::Slice(spec) = self.rw.module.ops[op].kind.clone() else { return false };
        let (operand, result) = (self.rw.module.ops[op].operands[0], self.rw.module.ops[op].results[0]);
        // Quantized elements cannot be padded and selected; their slices use halo exchanges only.
        if self.rw.module.is_quantized(operand) {
            return false;
        }
        let Some(global) = self.global(operand).cloned() else { return false };
        let kind = &self.rw.module.ops[op].kind;
        let cut: Vec<usize> =
            (0..spec.start.len()).filter(|&d| is_windowed(kind, &global.shape, d)).collect();
        let (exchanged, alone): (Vec<usize>, Vec<usize>) =
            cut.into_iter().partition(|&d| self.is_split(result, d));
        let sums: Vec<usize> = alone.iter().copied().filter(|&d| self.is_split(operand, d)).collect();
        if alone.is_empty() || (sums.is_empty() && exchanged.is_empty()) {
            return false;
        }
        let made = self.rw.module.shape(result).to_vec();
        let mut value = self.cut_whole_dims(operand, &spec, &alone);
        let mut shape = global.shape.clone();
        let mut sharding = self.sharding(operand).cloned();
        for &dim in &alone {
            shape[dim] = made[dim];
            if let Some(sharding) = &mut sharding
                && sums.contains(&dim)
            {
                let axes = std::mem::take(&mut sharding.dims[dim].axes);
                value = self.addend(value, &spec, global.shape[dim], &Line { dim, axes: &axes });
            }
        }
        let mut ty = global;
        ty.shape = shape;
        let ty = self.rw.module.types.intern(Type::Tensor(ty));
        let sharding = sharding.map(|sharding| self.rw.module.shardings.intern(sharding));
        self.note_tensor(value, ty, sharding);
        self.rw.module.ops[op].operands[0] = value;
        if let OpKind::Slice(spec) = &mut self.rw.module.ops[op].kind {
            for &d in &alone {
                (spec.start[d], spec.limit[d], spec.stride[d]) = (0, made[d], 1);
            }
        }
        if exchanged.is_empty() {
            // No other dimension is sliced, also not on local shapes, so the remaining slice would return its operand.
            self.replace(value);
            return true;
        }
        false
    }

    /// Slices the unsharded dimensions among `dims`.
    fn cut_whole_dims(&mut self, operand: ValueId, spec: &SliceSpec, dims: &[usize]) -> ValueId {
        let Some(mut ty) = self.rw.module.tensor(operand).cloned() else { return operand };
        let rank = ty.rank();
        let mut cut = SliceSpec {
            start: SizeList::from_elem(0, rank),
            limit: SizeList::from_slice(&ty.shape),
            stride: SizeList::from_elem(1, rank),
        };
        let whole: Vec<usize> = dims.iter().copied().filter(|&d| !self.is_split(operand, d)).collect();
        if whole.is_empty() {
            return operand;
        }
        for d in whole {
            (cut.start[d], cut.limit[d], cut.stride[d]) = (spec.start[d], spec.limit[d], spec.stride[d]);
            let reach = (cut.limit[d] - cut.start[d]).max(0);
            ty.shape[d] = (reach + cut.stride[d] - 1) / cut.stride[d];
        }
        let ty = self.rw.module.types.intern(Type::Tensor(ty));
        self.emit(OpKind::Slice(Box::new(cut)), &[operand], ty)
    }

    /// Returns the device's part of a slice along one dimension of global size `size`: its own rows of the result, and zeros elsewhere.
    fn addend(&mut self, block: ValueId, spec: &SliceSpec, size: i64, line: &Line<'_>) -> ValueId {
        let Some(dtype) = self.rw.module.tensor(block).map(|t| t.dtype) else { return block };
        let k = self.mesh.axes_size(line.axes);
        let (thin, takes) = held_of_slice(spec, size, line.dim, k);
        let rows = takes.iter().map(|span| span.end).max().unwrap_or(0);
        let slab = self.thin(block, &thin, line);
        let to = takes.iter().map(|span| (!span.is_empty()).then_some(span.start)).collect();
        let zero = self.splat(&exact_zero(dtype), &[], dtype);
        let moved = self.move_slab(slab, &to, rows, zero, line);
        let shape = self.rw.module.shape(moved).to_vec();
        let mask = match only_owner(&takes, rows) {
            Some(owner) => self.is_at(line.axes, owner),
            None => self.within(&takes, &shape, line),
        };
        let zeros = self.broadcast_scalar(zero, &shape, dtype);
        let ty = self.tensor_type(&shape, dtype);
        self.emit(OpKind::Select, &[mask, moved, zeros], ty)
    }

    /// Returns a boolean scalar that is true on devices whose index over `axes` is `index`.
    fn is_at(&mut self, axes: &[AxisRef], index: usize) -> ValueId {
        let coordinate = self.linear_coordinate(axes);
        let index = self.i32_scalar(index as i64);
        let pred = self.tensor_type(&[], DType::I1);
        let compare = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        self.emit(compare, &[coordinate, index], pred)
    }
}

/// Returns the index of the device that holds all `rows`, if there is one.
fn only_owner(takes: &[Span], rows: i64) -> Option<usize> {
    takes.iter().position(|span| *span == (0..rows))
}
