//! Partitions gathers and scatters over sharded indexed dimensions.
//!
//! Each device translates the indices to positions in its own block. For a gather, it first clamps them, as StableHLO specifies, then
//! reads the rows that it has and uses zeros for the others; the planned result is unreduced. A scatter ignores indices outside the block
//! anyway.

use shardc_ir::{
    AxisRef, BinaryOp, Build, CompareDirection, CompareType, DType, DTypeClass, DimList, GatherSpec, OpId,
    OpKind, ReductionKind, ValueId,
};

use super::Localizer;
use crate::analysis::reducer::{collective_reduction, is_identity, reducer};
use crate::plan::single_windows;

/// Returns the minimum and the maximum value of an index type.
fn extremes(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::I64 => (i64::MIN, i64::MAX),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    }
}

/// One component of an index vector.
struct Component {
    /// The position of the component in the index vector.
    at: usize,
    /// The global size of the dimension that the component indexes.
    size: i64,
    /// The size of a device's block along the dimension that the component indexes.
    block: i64,
    /// The axes that shard the dimension that the component indexes.
    axes: Vec<AxisRef>,
}

impl Localizer<'_> {
    /// Returns the index components of sharded dimensions of `operand` with slice size 1. `map` maps components to dimensions.
    fn split_components(
        &self,
        operand: ValueId,
        map: &DimList,
        takes_one: impl Fn(u32) -> bool,
    ) -> Vec<Component> {
        let Some(global) = self.global(operand) else { return Vec::new() };
        map.iter()
            .enumerate()
            .filter(|&(_, &dim)| self.is_split(operand, dim as usize) && takes_one(dim))
            .map(|(at, &dim)| Component {
                at,
                size: global.shape[dim as usize],
                block: self.rw.module.shape(operand)[dim as usize],
                axes: self.sharding(operand).map(|s| s.axes(dim as usize).to_vec()).unwrap_or_default(),
            })
            .collect()
    }

    /// Converts indices to a signed type that is wide enough to subtract offsets.
    fn widen_indices(&mut self, indices: ValueId) -> (ValueId, DType) {
        let Some(ty) = self.rw.module.tensor(indices).cloned() else { return (indices, DType::I32) };
        let wide = match (ty.dtype.class(), ty.dtype.bits()) {
            (DTypeClass::Unsigned, 32..) | (_, 64) => DType::I64,
            _ => DType::I32,
        };
        if wide == ty.dtype {
            return (indices, wide);
        }
        let wide_ty = self.tensor_type(&ty.shape, wide);
        (self.emit(OpKind::Convert, &[indices], wide_ty), wide)
    }

    fn int_splat(&mut self, value: i64, shape: &[i64], dtype: DType) -> ValueId {
        self.splat(&value.to_le_bytes()[..dtype.bytes()], shape, dtype)
    }

    /// Broadcasts one scalar per component to the shape of the indices.
    fn per_component(
        &mut self,
        scalars: &[ValueId],
        shape: &[i64],
        vector_dim: usize,
        dtype: DType,
    ) -> ValueId {
        if let [only] = scalars {
            return self.broadcast_scalar(*only, shape, dtype);
        }
        let one = self.tensor_type(&[1], dtype);
        let parts: Vec<ValueId> = scalars.iter().map(|&s| self.emit(OpKind::Reshape, &[s], one)).collect();
        let row = self.tensor_type(&[scalars.len() as i64], dtype);
        let row = self.emit(OpKind::Concatenate { dim: 0 }, &parts, row);
        let ty = self.tensor_type(shape, dtype);
        let dims = [vector_dim as u32].into_iter().collect();
        self.emit(OpKind::BroadcastInDim { dims }, &[row], ty)
    }

    /// Returns one scalar for each of `count` components: the value of `of` for components in `split`, and `other` for the rest.
    fn scalars(
        &mut self,
        count: usize,
        split: &[Component],
        dtype: DType,
        other: i64,
        of: impl Fn(&Component) -> i64,
    ) -> Vec<ValueId> {
        (0..count)
            .map(|at| {
                let value = split.iter().find(|c| c.at == at).map_or(other, &of);
                self.int_splat(value, &[], dtype)
            })
            .collect()
    }

    /// Clamps `components` of the indices to `0..=last`. Returns the indices and the lower bounds.
    fn clamp_components(
        &mut self,
        indices: ValueId,
        spec: &GatherSpec,
        components: &[Component],
        dtype: DType,
        last: impl Fn(&Component) -> i64,
    ) -> (ValueId, ValueId) {
        let shape = self.rw.module.shape(indices).to_vec();
        let (count, vector_dim) = (spec.start_index_map.len(), spec.index_vector_dim as usize);
        let (least, most) = extremes(dtype);
        let low = self.scalars(count, components, dtype, least, |_| 0);
        let low = self.per_component(&low, &shape, vector_dim, dtype);
        let high = self.scalars(count, components, dtype, most, last);
        let high = self.per_component(&high, &shape, vector_dim, dtype);
        let ty = self.tensor_type(&shape, dtype);
        (self.emit(OpKind::Clamp, &[low, indices, high], ty), low)
    }

    /// Clamps the indices of a gather of one slice, since XLA converts it to a `dynamic_slice`. The reason is given at
    /// [`Localizer::keep_inside`].
    fn keep_index_inside(&mut self, op: OpId, spec: &GatherSpec) {
        let &[operand, indices] = self.rw.module.ops[op].operands.as_slice() else { return };
        let vectors = self.rw.module.shape(indices).iter().enumerate();
        let is_one = vectors.filter(|&(d, _)| d != spec.index_vector_dim as usize).all(|(_, &n)| n == 1);
        let shape = self.rw.module.shape(operand).to_vec();
        let window = |c: &Component| spec.slice_sizes[spec.start_index_map[c.at] as usize];
        let windows: Vec<Component> = (0..spec.start_index_map.len())
            .map(|at| {
                let size = shape[spec.start_index_map[at] as usize];
                Component { at, size, block: size, axes: Vec::new() }
            })
            .filter(|c| !self.is_split(operand, spec.start_index_map[c.at] as usize))
            .filter(|c| (2..c.size).contains(&window(c)))
            .collect();
        if !is_one || windows.is_empty() {
            return;
        }
        let (indices, dtype) = self.widen_indices(indices);
        let (inside, _) = self.clamp_components(indices, spec, &windows, dtype, |c| c.size - window(c));
        self.rw.module.ops[op].operands[1] = inside;
    }

    /// Returns indices relative to the device's blocks.
    fn relative(
        &mut self,
        indices: ValueId,
        dtype: DType,
        split: &[Component],
        count: usize,
        vector_dim: usize,
    ) -> ValueId {
        let shape = self.rw.module.shape(indices).to_vec();
        let mut offsets = Vec::with_capacity(count);
        for at in 0..count {
            let offset = match split.iter().find(|c| c.at == at) {
                None => self.int_splat(0, &[], dtype),
                Some(c) => {
                    let offset = self.offset(&c.axes, c.block);
                    if dtype == DType::I32 {
                        offset
                    } else {
                        let ty = self.tensor_type(&[], dtype);
                        self.emit(OpKind::Convert, &[offset], ty)
                    }
                }
            };
            offsets.push(offset);
        }
        let offsets = self.per_component(&offsets, &shape, vector_dim, dtype);
        let ty = self.tensor_type(&shape, dtype);
        self.emit(OpKind::Binary(BinaryOp::Subtract), &[indices, offsets], ty)
    }

    pub(crate) fn gather(&mut self, op: OpId) {
        let OpKind::Gather(spec) = self.rw.module.ops[op].kind.clone() else { return };
        self.keep_index_inside(op, &spec);
        let operand = self.rw.module.ops[op].operands[0];
        let indices = self.rw.module.ops[op].operands[1];
        let takes_one = |dim: u32| spec.slice_sizes[dim as usize] == 1;
        let split = self.split_components(operand, &spec.start_index_map, takes_one);
        let local = self.rw.module.shape(operand).to_vec();
        let whole: Vec<bool> = (0..local.len())
            .map(|d| {
                self.is_split(operand, d)
                    && self.global(operand).is_some_and(|t| t.shape[d] == spec.slice_sizes[d])
            })
            .collect();
        if let OpKind::Gather(spec) = &mut self.rw.module.ops[op].kind {
            for d in (0..local.len()).filter(|&d| whole[d]) {
                spec.slice_sizes[d] = local[d];
            }
        }
        if split.is_empty() {
            return;
        }
        let (indices, dtype) = self.widen_indices(indices);
        let shape = self.rw.module.shape(indices).to_vec();
        let vector_dim = spec.index_vector_dim as usize;
        let count = spec.start_index_map.len();
        let (_, most) = extremes(dtype);
        // Indices are clamped while they are global: an index out of bounds denotes the first or last element of the dimension, not of
        // this device's block.
        let (clamped, low) = self.clamp_components(indices, &spec, &split, dtype, |c| c.size - 1);
        let relative = self.relative(clamped, dtype, &split, count, vector_dim);
        self.rw.module.ops[op].operands[1] = relative;
        if let OpKind::Gather(spec) = &mut self.rw.module.ops[op].kind {
            spec.indices_are_sorted = Some(false);
        }

        let block = self.scalars(count, &split, dtype, most, |c| c.block);
        let block = self.per_component(&block, &shape, vector_dim, dtype);
        let pred_ty = self.tensor_type(&shape, DType::I1);
        let signed = Some(CompareType::Signed);
        let not_before = self.emit(OpKind::Compare(CompareDirection::GE, signed), &[relative, low], pred_ty);
        let before_end =
            self.emit(OpKind::Compare(CompareDirection::LT, signed), &[relative, block], pred_ty);
        let inside = self.emit(OpKind::Binary(BinaryOp::And), &[not_before, before_end], pred_ty);
        let inside = self.all_components(inside, &shape, vector_dim, count);

        let (old, fresh) = self.detach_result(op, 0);
        self.rw.keep();
        let Some(result) = self.rw.module.tensor(fresh).cloned() else { return };
        let Some(zero) = self.identity_scalar(ReductionKind::Add, result.dtype) else { return };
        // Every device gathers some element. If the requested element is outside of its block, the result is masked to zero, so that the
        // reduction that planning inserted returns the requested element.
        let zeros = self.broadcast_scalar(zero, &result.shape, result.dtype);
        let batch_dims: DimList =
            (0..result.shape.len() as u32).filter(|d| !spec.offset_dims.contains(d)).collect();
        let mask_ty = self.tensor_type(&result.shape, DType::I1);
        let mask = self.emit(OpKind::BroadcastInDim { dims: batch_dims }, &[inside], mask_ty);
        let ty = self.rw.module.values[fresh].ty;
        let masked = self.emit(OpKind::Select, &[mask, fresh, zeros], ty);
        self.attach(old, masked);
    }

    /// Reduces a mask over the components of each index by `and`. The result has the shape of the indices without their vector
    /// dimension.
    fn all_components(&mut self, mask: ValueId, shape: &[i64], vector_dim: usize, count: usize) -> ValueId {
        if vector_dim >= shape.len() {
            return mask;
        }
        let mut batch = shape.to_vec();
        batch.remove(vector_dim);
        let ty = self.tensor_type(&batch, DType::I1);
        if count == 1 {
            return self.emit(OpKind::Reshape, &[mask], ty);
        }
        let init = self.splat(&[1], &[], DType::I1);
        let region = reducer(self.rw.module, ReductionKind::And, DType::I1);
        let dims = [vector_dim as u32].into_iter().collect();
        let op = self.rw.op(OpKind::Reduce { dims }, &[mask, init], &[ty], &[region]);
        self.rw.module.ops[op].results[0]
    }

    pub(crate) fn scatter(&mut self, op: OpId) {
        let OpKind::Scatter(spec) = self.rw.module.ops[op].kind.clone() else { return };
        let inputs = (self.rw.module.ops[op].operands.len() - 1) / 2;
        let indices = self.rw.module.ops[op].operands[inputs];
        let vector_dim = spec.index_vector_dim as usize;
        let whole = |value: Option<&ValueId>| value.and_then(|&v| self.global(v)).map(|ty| &*ty.shape);
        let operands = &self.rw.module.ops[op].operands;
        let single = match (whole(operands.first()), whole(operands.last())) {
            (Some(input), Some(update)) => single_windows(&spec, input, update),
            _ => Vec::new(),
        };
        let takes_one =
            |dim: u32| spec.inserted_window_dims.contains(&dim) || single.contains(&(dim as usize));
        let input = self.rw.module.ops[op].operands[0];
        let split = self.split_components(input, &spec.scatter_dims_to_operand_dims, takes_one);

        // The sharded dimensions of the indices, except batching dimensions: along these, devices hold different updates, so their results
        // are partial.
        let rank = self.rw.module.rank(indices);
        let partial: Vec<usize> = (0..rank)
            .filter(|&d| {
                d != vector_dim
                    && self.is_split(indices, d)
                    && !spec.scatter_indices_batching_dims.contains(&(d as u32))
            })
            .collect();
        if split.is_empty() && partial.is_empty() {
            return;
        }
        let (mut value, dtype) = self.widen_indices(indices);
        if value != indices {
            self.same_tensor(value, indices);
        }
        if !split.is_empty() {
            let count = spec.scatter_dims_to_operand_dims.len();
            // Indices are not clamped, unlike in a gather: an update out of bounds is ignored. An index beyond the tensor (index 7 of 7
            // elements over 4 devices) may write to padding of the last block, which is harmless. The minimum index minus an offset wraps
            // to a large index, which is also out of bounds.
            let relative = self.relative(value, dtype, &split, count, vector_dim);
            self.same_tensor(relative, indices);
            value = relative;
        }
        for &dim in &partial {
            if self.is_padded(value, dim) {
                // An index of -1 is out of bounds, so its update is ignored.
                let nowhere = self.int_splat(-1, &[], dtype);
                value = self.mask_tail_of(value, dim, nowhere);
            }
        }
        self.rw.module.ops[op].operands[inputs] = value;
        if let OpKind::Scatter(spec) = &mut self.rw.module.ops[op].kind {
            spec.indices_are_sorted = Some(false);
        }
        if !partial.is_empty() {
            self.count_input_once(op, &partial, indices);
        }
        if !split.is_empty() {
            self.keep_single_update_apart(op, inputs, vector_dim);
        }
    }

    /// Inserts a barrier before the input of a scatter of one update. XLA rewrites such a scatter to a slice and an update of
    /// the slice. If the input is also a slice, XLA merges both slices and adds the unclamped starts. For an index outside the device's
    /// block, it then writes elements from the wrong position.
    fn keep_single_update_apart(&mut self, op: OpId, inputs: usize, vector_dim: usize) {
        let indices = self.rw.module.shape(self.rw.module.ops[op].operands[inputs]);
        let updates: i64 =
            indices.iter().enumerate().filter(|&(d, _)| d != vector_dim).map(|(_, &n)| n).product();
        if updates != 1 {
            return;
        }
        for i in 0..inputs {
            let input = self.rw.module.ops[op].operands[i];
            let ty = self.rw.module.values[input].ty;
            self.rw.module.ops[op].operands[i] = self.emit(OpKind::OptimizationBarrier, &[input], ty);
        }
    }

    /// Keeps the input only on the first device along the axes of `partial`, since the result is unreduced along them.
    fn count_input_once(&mut self, op: OpId, partial: &[usize], indices: ValueId) {
        let Some(kind) = collective_reduction(self.rw.module, op) else { return };
        let input = self.rw.module.ops[op].operands[0];
        if is_identity(self.rw.module, input, kind) || crate::analysis::reducer::is_idempotent(kind) {
            return;
        }
        let axes: Vec<AxisRef> = partial
            .iter()
            .flat_map(|&d| self.sharding(indices).map(|s| s.axes(d).to_vec()).unwrap_or_default())
            .collect();
        self.rw.module.ops[op].operands[0] = self.on_first(input, &axes, kind);
    }
}
