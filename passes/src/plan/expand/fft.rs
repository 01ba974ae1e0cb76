//! Distributed multi-dimensional FFT: transforms unsharded dimensions first, then moves the axes by an all-to-all.
//!
//! The transform along the unsharded dimensions comes first. An all-to-all then moves the axes of the other dimensions to the transformed
//! ones, and the remaining dimensions are transformed. If all dimensions are sharded, the axes of one dimension become minor axes of
//! another.
//!
//! A transform over several dimensions is a sequence of one-dimensional transforms. A real transform has one step between real and complex
//! numbers, along the last dimension. This step is the first one of an RFFT, and the last one of an IRFFT.
//!
//! ```mlir
//! %0 = stablehlo.fft %x, type = FFT, length = [256, 256, 256]            // [{"x"}, {}, {}]
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.fft %x, type = FFT, length = [256, 256]
//! %2 = sdy.reshard %1 <@mesh, [{}, {"x"}, {}]>                           // all_to_all
//! %0 = stablehlo.fft %2, type = FFT, length = [256]                      // along dimension 0, between transposes
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{
    Access, DType, DimList, DimSharding, Effect, FftKind, Mesh, OpKind, Parts, SizeList, Uses, ValueId,
};

use super::Steps;

/// One step of the expanded transform.
enum Stage {
    /// A transform along these dimensions, which are unsharded.
    Transform(Vec<usize>),
    /// A reshard to these dimension shardings.
    Move(Vec<DimSharding>),
}

/// An FFT to expand: its kind, its sizes, and the first of the dimensions that it transforms. It transforms all later dimensions too.
struct Transform {
    kind: FftKind,
    /// The smaller of the real and the complex size of each dimension.
    shape: Vec<i64>,
    first: usize,
}

impl Transform {
    /// Returns the dimensions that may be transformed next, once they are unsharded. `left`: the dimensions that are not transformed yet.
    fn next(&self, left: &[usize]) -> Vec<usize> {
        let last = self.shape.len() - 1;
        match self.kind {
            FftKind::Rfft if left.contains(&last) => vec![last],
            FftKind::Irfft if left.len() > 1 => left.iter().copied().filter(|&d| d != last).collect(),
            _ => left.to_vec(),
        }
    }

    /// Returns the steps of the transform and the final sharding; `None` if the axes of some dimension can shard no other dimension.
    fn stages(
        &self,
        mesh: &Mesh,
        from: &[DimSharding],
        to: &[DimSharding],
    ) -> Option<(Vec<Stage>, Vec<DimSharding>)> {
        let mut dims = from.to_vec();
        let mut left: Vec<usize> = (self.first..self.shape.len()).collect();
        let mut stages = Vec::new();
        while !left.is_empty() {
            let mut ready = self.next(&left);
            let is_real_first = self.kind == FftKind::Rfft && left.contains(&(self.shape.len() - 1));
            if is_real_first && dims[ready[0]].axes.is_empty() {
                // The step between real and complex numbers and the transforms along other unsharded dimensions are one operation.
                ready = left.clone();
            } else if self.kind == FftKind::Irfft && left.iter().all(|&d| dims[d].axes.is_empty()) {
                ready = left.clone();
            }
            let whole: Vec<usize> = ready.iter().copied().filter(|&d| dims[d].axes.is_empty()).collect();
            if !whole.is_empty() {
                left.retain(|d| !whole.contains(d));
                stages.push(Stage::Transform(whole));
                continue;
            }
            // If no other dimension can take the axes of a ready dimension, its transform is delayed until other transforms are done.
            let mut is_moved = false;
            for &d in &ready {
                let place = self.place_for(mesh, &dims[d], &dims, to, &ready, &left);
                if let Some(place) = place {
                    dims[place] = std::mem::take(&mut dims[d]);
                    is_moved = true;
                }
            }
            if !is_moved {
                // Every other dimension is also sharded, so the axes of this dimension become minor axes of another.
                let (d, place) = ready
                    .iter()
                    .rev()
                    .find_map(|&d| Some((d, self.place_to_join(mesh, d, &dims, &ready, &left)?)))?;
                let axes = std::mem::take(&mut dims[d]).axes;
                dims[place].axes.extend(axes);
            }
            stages.push(Stage::Move(dims.clone()));
        }
        Some((stages, dims))
    }

    /// Returns the best dimension for `axes` to shard while the dimensions `ready` are transformed. The preference is for evenly divided
    /// dimensions, then transformed ones, then those that `axes` shard in the result, then the largest.
    fn place_for(
        &self,
        mesh: &Mesh,
        axes: &DimSharding,
        dims: &[DimSharding],
        to: &[DimSharding],
        ready: &[usize],
        left: &[usize],
    ) -> Option<usize> {
        let k = mesh.axes_size(&axes.axes);
        let room = |&d: &usize| !ready.contains(&d) && dims[d].axes.is_empty() && self.shape[d] >= k;
        let rating = |d: usize| {
            let is_even = self.shape[d] % k == 0;
            (is_even, !left.contains(&d), to[d].axes == axes.axes, self.shape[d])
        };
        (0..dims.len()).rev().filter(room).max_by_key(|&d| rating(d))
    }
}

impl Transform {
    /// Returns the best sharded dimension to which the axes of dimension `d` can be appended. The preference is for evenly divided
    /// dimensions, then those that are not in `ready`, then transformed ones, then the largest.
    fn place_to_join(
        &self,
        mesh: &Mesh,
        d: usize,
        dims: &[DimSharding],
        ready: &[usize],
        left: &[usize],
    ) -> Option<usize> {
        let k = |e: usize| mesh.axes_size(&dims[d].axes) * mesh.axes_size(&dims[e].axes);
        let room = |&e: &usize| e != d && !dims[e].axes.is_empty() && self.shape[e] >= k(e);
        let rating =
            |e: usize| (self.shape[e] % k(e) == 0, !ready.contains(&e), !left.contains(&e), self.shape[e]);
        (0..dims.len()).rev().filter(room).max_by_key(|&e| rating(e))
    }
}

impl Steps<'_, '_> {
    /// Expands a transform over several dimensions, some of which are sharded.
    pub(super) fn fft(&mut self, uses: &Uses) -> Option<()> {
        let data = &self.rw.module.ops[self.at];
        let OpKind::Fft { kind, length } = &data.kind else { return None };
        let (kind, length) = (*kind, length.clone());
        let (operand, result) = (*data.operands.first()?, *data.results.first()?);
        let (input, output) =
            (self.rw.module.tensor(operand)?.clone(), self.rw.module.tensor(result)?.clone());
        let rank = input.rank();
        let first = rank.checked_sub(length.len())?;
        if length.len() < 2 || !input.is_static() || input.shape.contains(&0) {
            return None;
        }
        if self.split_dims(operand, first..rank)?.is_empty() {
            return None;
        }
        let given = self.rw.module.shardings.sharding_of(operand)?;
        let requested = self.rw.module.shardings.sharding_of(result)?;
        if !given.unreduced.is_empty() || !requested.unreduced.is_empty() {
            return None;
        }
        let (from, to) = (given.dims.to_vec(), requested.dims.to_vec());
        // The last dimension may have different sizes in operand and result; the smaller size determines whether axes fit.
        let shape: Vec<i64> = input.shape.iter().zip(&output.shape).map(|(&a, &b)| a.min(b)).collect();
        let transform = Transform { kind, shape, first };
        let (stages, end) = transform.stages(&self.rw.module.meshes[self.mesh], &from, &to)?;
        if end != to {
            self.keep_transformed_sharding(result, &end, uses);
        }

        let (mut value, mut dims) = (operand, from);
        let (mut shape, mut dtype) = (input.shape.to_vec(), input.dtype);
        let count = stages.len();
        for (i, stage) in stages.into_iter().enumerate() {
            let along = match stage {
                Stage::Move(moved) => {
                    value = self.reshard(value, &moved);
                    dims = moved;
                    continue;
                }
                Stage::Transform(along) => along,
            };
            let is_real = along.contains(&(rank - 1));
            let part = match kind {
                FftKind::Rfft if !is_real => FftKind::Fft,
                FftKind::Irfft if !is_real => FftKind::Ifft,
                kind => kind,
            };
            let lengths: SizeList = along.iter().map(|&d| length[d - first]).collect();
            let kind = OpKind::Fft { kind: part, length: lengths };
            let made: (Vec<i64>, DType) = if is_real {
                let mut made = shape.clone();
                made[rank - 1] = output.shape[rank - 1];
                (made, output.dtype)
            } else {
                (shape.clone(), dtype)
            };
            let is_last = i + 1 == count;
            let (there, back) = last_dims(rank, &along);
            let is_in_place = there.iter().enumerate().all(|(i, &d)| i == d as usize);
            if !is_in_place {
                value = self.transposed(value, &there, &shape, dtype, &dims);
            }
            (shape, dtype) = made;
            let order = |at: &DimList| -> (Vec<i64>, Vec<DimSharding>) {
                at.iter().map(|&d| (shape[d as usize], dims[d as usize].clone())).unzip()
            };
            if is_in_place && is_last {
                self.replace_by_last_step(kind, value);
                return Some(());
            }
            let (sizes, split) = order(&there);
            value = self.emit(kind, &[value], &sizes, dtype, &split);
            if is_in_place {
                continue;
            }
            let back = OpKind::Transpose { permutation: back };
            if is_last {
                self.replace_by_last_step(back, value);
                return Some(());
            }
            value = self.emit(back, &[value], &shape, dtype, &dims);
        }
        Some(())
    }

    /// Converts the current operation to the last step, with operand `value`.
    fn replace_by_last_step(&mut self, kind: OpKind, value: ValueId) {
        let data = &mut self.rw.module.ops[self.at];
        data.kind = kind;
        data.operands = std::iter::once(value).collect();
    }

    fn transposed(
        &mut self,
        value: ValueId,
        permutation: &DimList,
        shape: &[i64],
        dtype: DType,
        dims: &[DimSharding],
    ) -> ValueId {
        let (shape, dims): (Vec<i64>, Vec<DimSharding>) =
            permutation.iter().map(|&d| (shape[d as usize], dims[d as usize].clone())).unzip();
        self.emit(OpKind::Transpose { permutation: permutation.clone() }, &[value], &shape, dtype, &dims)
    }

    /// Sets the sharding that the steps produce on the result of the transform, and on values computed element-wise from it. Otherwise, the
    /// result would be resharded to its old sharding and back. Conditions: the only other users of these values are transforms, and the
    /// other operands, which must be resharded, have fewer bytes than the values whose reshards are saved.
    fn keep_transformed_sharding(
        &mut self,
        result: ValueId,
        dims: &[DimSharding],
        uses: &Uses,
    ) -> Option<()> {
        let module = &*self.rw.module;
        let requested = module.shardings.of(result)?;
        let shape = module.shape(result);
        let bytes = |v: ValueId| module.tensor(v).and_then(|ty| ty.num_bytes()).unwrap_or(0);
        let (mut alike, mut known) = (vec![result], FxHashSet::from_iter([result]));
        let (mut saved, mut others) = (bytes(result), FxHashSet::default());
        let mut next = 0;
        while let Some(&value) = alike.get(next) {
            next += 1;
            let mut is_transformed = false;
            for &(op, _) in uses.of(value) {
                let data = &module.ops[op];
                let def = data.kind.def();
                if matches!(data.kind, OpKind::Fft { .. }) {
                    is_transformed = true;
                    continue;
                }
                let by_element = def.access == Access::SamePlace
                    && def.effect == Effect::Pure
                    && def.parts == Parts::AlongPassThrough
                    && data.regions.is_empty();
                let &[made] = data.results.as_slice() else { return None };
                if !by_element || module.shape(made) != shape || module.shardings.of(made) != Some(requested)
                {
                    return None;
                }
                others.extend(data.operands.iter().copied().filter(|&v| module.rank(v) > 0));
                if known.insert(made) {
                    alike.push(made);
                }
            }
            saved += if is_transformed { bytes(value) } else { 0 };
        }
        if next == 1 && saved == bytes(result) {
            return None;
        }
        let is_made_there = |v: ValueId| {
            let kind = module.def_op(v).map(|op| &module.ops[op].kind);
            matches!(kind, Some(OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::BroadcastInDim { .. }))
        };
        let lost: i64 =
            others.iter().filter(|&&v| !known.contains(&v) && !is_made_there(v)).map(|&v| bytes(v)).sum();
        if lost >= saved {
            return None;
        }
        for value in alike {
            self.place(value, dims);
        }
        Some(())
    }
}

/// Returns the permutation that makes `along` the last dimensions of a tensor of this rank, and its inverse.
fn last_dims(rank: usize, along: &[usize]) -> (DimList, DimList) {
    let there: DimList =
        (0..rank).filter(|d| !along.contains(d)).chain(along.iter().copied()).map(|d| d as u32).collect();
    let mut back = there.clone();
    for (i, &d) in there.iter().enumerate() {
        back[d as usize] = i as u32;
    }
    (there, back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Around, around};

    #[test]
    fn last_dims_are_permuted_and_restored() {
        let (there, back) = last_dims(4, &[0, 2]);
        assert_eq!(there.as_slice(), [1, 3, 0, 2]);
        assert_eq!(back.as_slice(), [2, 0, 3, 1]);
    }

    #[test]
    fn the_real_transform_comes_first_or_last() {
        let of = |kind| Transform { kind, shape: vec![2, 8, 8, 8], first: 1 };
        assert_eq!(of(FftKind::Rfft).next(&[1, 2, 3]), [3]);
        assert_eq!(of(FftKind::Rfft).next(&[1, 2]), [1, 2]);
        assert_eq!(of(FftKind::Irfft).next(&[1, 2, 3]), [1, 2]);
        assert_eq!(of(FftKind::Irfft).next(&[3]), [3]);
        assert_eq!(of(FftKind::Fft).next(&[1, 2, 3]), [1, 2, 3]);
    }

    const FIRST: &str = r#"[{"x"}, {}]"#;
    const SECOND: &str = r#"[{}, {"x"}]"#;

    /// Expands the transforms of an argument that is sharded along its first dimension.
    fn expanded(transforms: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<8x16xcomplex<f32>> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}})
                -> (tensor<8x16xcomplex<f32>> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
              {transforms}
              return %r : tensor<8x16xcomplex<f32>>
            }}"#
        );
        around("expand-sharded-ops", r#""x"=4"#, &program)
    }

    #[test]
    fn a_transform_is_done_along_unsplit_dimensions_first() {
        let done = expanded(
            "%r = stablehlo.fft %a, type = FFT, length = [8, 16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>",
        );
        assert!(done.after.contains("%0 = stablehlo.fft %arg0, type = FFT, length = [16]"), "{}", done.after);
        assert_eq!(done.shardings("sdy.reshard"), [SECOND], "an all-to-all");
        assert_eq!(done.shardings("stablehlo.fft"), [FIRST, FIRST], "the second one is between transposes");
    }

    #[test]
    fn a_value_between_two_transforms_keeps_the_sharding_of_the_first() {
        let done = expanded(
            "%f = stablehlo.fft %a, type = FFT, length = [8, 16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>
            %m = stablehlo.multiply %f, %f : tensor<8x16xcomplex<f32>>
            %r = stablehlo.fft %m, type = IFFT, length = [8, 16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>",
        );
        assert_eq!(done.shardings("stablehlo.multiply"), [SECOND]);
        assert_eq!(done.shardings("sdy.reshard"), [SECOND, FIRST]);
    }

    #[test]
    fn a_transform_along_unsplit_dimensions_stays() {
        let done = expanded(
            "%r = stablehlo.fft %a, type = FFT, length = [16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>",
        );
        assert!(done.is_same(), "{}", done.after);
    }
}
