//! Two-stage reduction along a sharded dimension, for `top_k` and for reductions that no all-reduce implements (argmax, exclusive or).
//!
//! Each device reduces its own block; the partial results are all-gathered and reduced again. A dimension of `n` elements in `k` blocks of
//! `c` is padded to `k * c` with neutral elements and reshaped to two dimensions of sizes `k` and `c`. The first step reduces the dimension
//! of size `c`, which is not sharded. Both steps are operations on global values, and are planned like any other operation.
//!
//! StableHLO allows an implementation to group the elements of a reduction in any way, and to start each group from the initial value.
//! The order of elements is preserved, so the first of equal elements is selected.
//!
//! ```mlir
//! %0:2 = stablehlo.reduce(%a init: %low), (%i init: %zero) across dimensions = [1] : ... // tensor<6x26>, [{}, {"x"}], "x"=4
//! ```
//! becomes, and in the same way for `%i`:
//! ```mlir
//! %1 = stablehlo.pad %a, %low, low = [0, 0], high = [0, 2], ...
//! %2 = stablehlo.reshape %1 : (tensor<6x28xf32>) -> tensor<6x4x7xf32>
//! %3:2 = stablehlo.reduce(%2 init: %low), ... across dimensions = [2]
//! %4 = sdy.reshard %3#0 <@mesh, [{}, {}]>                                                 // all_gather
//! %0:2 = stablehlo.reduce(%4 init: %low), ... across dimensions = [1]
//! ```

use shardc_ir::{
    BinaryOp, Build, DType, DimList, DimSharding, GatherSpec, OpKind, PadSpec, ReductionKind, SizeList,
    ValueId, ValueMap, clone_region,
};

use super::Steps;
use crate::analysis::reducer::{identity, reduction_of};
use crate::plan::support::splits_reduce;

impl Steps<'_, '_> {
    /// Returns `value` with each dimension in `split`, a list of (dimension, number of blocks), reshaped to two: blocks, and elements of a
    /// block. The scalar `fill` pads the last block.
    pub(super) fn blocks(
        &mut self,
        value: ValueId,
        split: &[(usize, i64)],
        fill: ValueId,
    ) -> Option<ValueId> {
        let ty = self.rw.module.tensor(value)?.clone();
        let sharding = self.rw.module.shardings.sharding_of(value)?.dims.to_vec();
        let mut padded = ty.shape.to_vec();
        let mut high = SizeList::from_elem(0, ty.rank());
        for &(dim, k) in split {
            padded[dim] = (padded[dim] + k - 1) / k * k;
            high[dim] = padded[dim] - ty.shape[dim];
        }
        let mut value = value;
        if high.iter().any(|&n| n > 0) {
            let none = SizeList::from_elem(0, ty.rank());
            let spec = PadSpec { low: none.clone(), high, interior: none };
            value = self.emit(OpKind::Pad(Box::new(spec)), &[value, fill], &padded, ty.dtype, &sharding);
        }
        let (mut shape, mut dims) = (Vec::new(), Vec::new());
        for (d, sharding) in sharding.into_iter().enumerate() {
            match split.iter().find(|&&(dim, _)| dim == d) {
                Some(&(_, k)) => {
                    shape.extend([k, padded[d] / k]);
                    dims.extend([sharding, DimSharding::default()]);
                }
                None => {
                    shape.push(padded[d]);
                    dims.push(sharding);
                }
            }
        }
        Some(self.emit(OpKind::Reshape, &[value], &shape, ty.dtype, &dims))
    }

    /// Returns an initial value that does not change the result: the identity of the reduction if it is known, and otherwise the initial
    /// value of the program.
    fn neutral(&mut self, inputs: usize, i: usize) -> Option<ValueId> {
        let data = &self.rw.module.ops[self.at];
        let init = *data.operands.get(inputs + i)?;
        let kind = data.regions.first().and_then(|&region| reduction_of(self.rw.module, region, inputs));
        let dtype = self.rw.module.tensor(init)?.dtype;
        // Sums and products of one-bit integers are disjunctions and conjunctions, with the corresponding identities.
        let kind = kind.map(|kind| match (kind, dtype) {
            (ReductionKind::Add, DType::I1) => ReductionKind::Or,
            (ReductionKind::Mul, DType::I1) => ReductionKind::And,
            (kind, _) => kind,
        });
        match kind {
            Some(kind) => Some(self.splat(&identity(kind, dtype)?, dtype)),
            None => Some(init),
        }
    }

    /// Expands a `reduce` that no all-reduce implements, such as an argmax of a value and its index.
    pub(super) fn reduce(&mut self, reduced: &DimList) -> Option<()> {
        let operands = self.rw.module.ops[self.at].operands.clone();
        let inputs = operands.len() / 2;
        let split = self.split_dims(*operands.first()?, reduced.iter().map(|&d| d as usize))?;
        if split.is_empty() || splits_reduce(self.rw.module, self.at) {
            return None;
        }
        // `at` returns the index of dimension `dim` after `blocks`, which replaces each preceding dimension in `split` by two.
        let at = |dim: usize| dim + split.iter().filter(|&&(d, _)| d < dim).count();
        let first: Vec<usize> = split.iter().map(|&(d, _)| at(d)).collect();
        let inner: Vec<usize> = reduced
            .iter()
            .map(|&d| at(d as usize) + usize::from(split.iter().any(|&(s, _)| s == d as usize)))
            .collect();
        let mut neutral = Vec::with_capacity(inputs);
        let mut parts = Vec::with_capacity(inputs);
        for (i, &operand) in operands.iter().take(inputs).enumerate() {
            let fill = self.neutral(inputs, i)?;
            neutral.push(fill);
            parts.push(self.blocks(operand, &split, fill)?);
        }
        let shape = self.rw.module.tensor(*parts.first()?)?.shape.clone();
        let dims = self.rw.module.shardings.sharding_of(*parts.first()?)?.dims.clone();
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !inner.contains(d)).collect();
        let kept_shape: Vec<i64> = kept.iter().map(|&d| shape[d]).collect();
        let kept_dims: Vec<DimSharding> = kept.iter().map(|&d| dims[d].clone()).collect();
        let types: Vec<_> = parts
            .iter()
            .map(|&part| {
                let dtype = self.rw.module.tensor(part)?.dtype;
                Some(self.rw.module.types.tensor(&kept_shape, dtype))
            })
            .collect::<Option<_>>()?;

        let region = *self.rw.module.ops[self.at].regions.first()?;
        let region = clone_region(self.rw.module, region, &mut ValueMap::new());
        let kind = OpKind::Reduce { dims: inner.iter().map(|&d| d as u32).collect() };
        let step = self.rw.op(kind, &[parts, neutral].concat(), &types, &[region]);

        let whole: Vec<DimSharding> = kept
            .iter()
            .map(|d| if first.contains(d) { DimSharding::default() } else { dims[*d].clone() })
            .collect();
        for (i, partial) in self.rw.module.ops[step].results.clone().into_iter().enumerate() {
            self.place(partial, &kept_dims);
            let gathered = self.reshard(partial, &whole);
            self.rw.module.ops[self.at].operands[i] = gathered;
        }
        let left = kept.iter().enumerate().filter(|(_, d)| first.contains(d)).map(|(i, _)| i as u32);
        self.rw.module.ops[self.at].kind = OpKind::Reduce { dims: left.collect() };
        Some(())
    }

    /// Expands a `top_k`: each device takes the `k` largest elements of its block. The `k` largest of all candidates are selected, and
    /// their indices are looked up. Equal elements keep their order, since blocks are gathered in order.
    pub(super) fn top_k(&mut self, k: i64, stable: Option<bool>) -> Option<()> {
        let operand = *self.rw.module.ops[self.at].operands.first()?;
        let ty = self.rw.module.tensor(operand)?.clone();
        let last = ty.rank().checked_sub(1)?;
        let [split] = self.split_dims(operand, [last])?[..] else { return None };
        let block = (ty.shape[last] + split.1 - 1) / split.1;
        let few = k.min(block);
        // If the candidates are more than half of the elements, an all-gather of the operand sends about as many bytes. Indices are
        // computed in `i32` below.
        let &[largest, indices] = self.rw.module.ops[self.at].results.as_slice() else { return None };
        let index = self.rw.module.tensor(indices)?.dtype;
        if few * split.1 * 2 > ty.shape[last] || index != DType::I32 {
            return None;
        }
        let lowest = self.splat(&identity(ReductionKind::Max, ty.dtype)?, ty.dtype);
        let parts = self.blocks(operand, &[split], lowest)?;
        let mut shape = self.rw.module.tensor(parts)?.shape.to_vec();
        let mut dims = self.rw.module.shardings.sharding_of(parts)?.dims.to_vec();
        shape[last + 1] = few;
        let types = [ty.dtype, index].map(|dtype| self.rw.module.types.tensor(&shape, dtype));
        let step = self.rw.op(OpKind::TopK { k: few, stable }, &[parts], &types, &[]);
        let &[values, positions] = self.rw.module.ops[step].results.as_slice() else { return None };
        self.place(values, &dims);
        self.place(positions, &dims);

        // The global index of a candidate is its block number times the block size, plus its position in the block.
        let number = self.emit(OpKind::Iota { dim: last as u32 }, &[], &shape, index, &dims);
        let size = self.splat(&(block as i32).to_le_bytes(), index);
        let broadcast = OpKind::BroadcastInDim { dims: DimList::new() };
        let size = self.emit(broadcast, &[size], &shape, index, &dims);
        let start = self.emit(OpKind::Binary(BinaryOp::Multiply), &[number, size], &shape, index, &dims);
        let positions = self.emit(OpKind::Binary(BinaryOp::Add), &[positions, start], &shape, index, &dims);

        shape.pop();
        dims.pop();
        shape[last] = few * split.1;
        let mut whole = dims.clone();
        whole[last] = DimSharding::default();
        let mut gathered = [values, positions];
        for (value, dtype) in gathered.iter_mut().zip([ty.dtype, index]) {
            let flat = self.emit(OpKind::Reshape, &[*value], &shape, dtype, &dims);
            *value = self.reshard(flat, &whole);
        }
        self.rw.module.ops[self.at].operands[0] = gathered[0];

        // The operation now returns positions among the gathered candidates; a gather maps them to global indices.
        self.rw.module.renew_result(self.at, 1);
        let chosen = self.rw.module.ops[self.at].results[1];
        let sharding = self.rw.module.shardings.of(largest);
        self.rw.module.shardings.set(chosen, sharding);
        self.look_up(gathered[1], chosen, indices, last);
        Some(())
    }

    /// Adds a gather after the operation. In each row of `positions`, the gather selects the elements at the indices `chosen`. The result
    /// of the gather replaces `old`.
    fn look_up(&mut self, positions: ValueId, chosen: ValueId, old: ValueId, last: usize) {
        let batch: DimList = (0..last as u32).collect();
        let spec = GatherSpec {
            offset_dims: DimList::new(),
            collapsed_slice_dims: [last as u32].into_iter().collect(),
            operand_batching_dims: batch.clone(),
            start_indices_batching_dims: batch,
            start_index_map: [last as u32].into_iter().collect(),
            index_vector_dim: last as u32 + 1,
            slice_sizes: SizeList::from_elem(1, last + 1),
            indices_are_sorted: None,
        };
        self.rw.keep();
        let gather = self.rw.op(OpKind::Gather(Box::new(spec)), &[positions, chosen], &[], &[]);
        self.rw.module.give_result(gather, old);
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    fn expanded(program: &str) -> Around {
        around("expand-sharded-ops", r#""x"=4"#, program)
    }

    /// Expands a `reduce` by exclusive or along dimension 1.
    fn exclusive_or(dims: &str) -> Around {
        expanded(&format!(
            r#"func.func @main(%a: tensor<6x26xi32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}, %init: tensor<i32>) -> tensor<6xi32> {{
              %r = stablehlo.reduce(%a init: %init) applies stablehlo.xor across dimensions = [1] : (tensor<6x26xi32>, tensor<i32>) -> tensor<6xi32>
              return %r : tensor<6xi32>
            }}"#
        ))
    }

    #[test]
    fn a_reduction_without_a_collective_reduces_blocks_and_their_results() {
        let done = exclusive_or(r#"[{}, {"x"}]"#);
        assert_eq!(done.shardings("stablehlo.reduce"), [r#"[{}, {"x"}]"#, "[{}]"]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}, {}]"]);
        assert!(done.after.contains("high = [0, 2]"), "blocks are padded to equal sizes: {}", done.after);
    }

    #[test]
    fn the_initial_value_is_taken_once() {
        let done = exclusive_or(r#"[{}, {"x"}]"#);
        assert_eq!(done.after.matches("init: %arg1").count(), 1, "{}", done.after);
        assert!(
            done.after
                .contains("stablehlo.reduce(%1 init: %c) applies stablehlo.xor across dimensions = [2]")
        );
    }

    #[test]
    fn an_argmax_reduces_values_and_indices_together() {
        let done = expanded(
            r#"func.func @main(%a: tensor<6x28xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %i: tensor<6x28xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
                -> (tensor<6xf32>, tensor<6xi32>) {
              %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
              %zero = stablehlo.constant dense<0> : tensor<i32>
              %r:2 = stablehlo.reduce(%a init: %low), (%i init: %zero) across dimensions = [1] : (tensor<6x28xf32>, tensor<6x28xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
               reducer(%p: tensor<f32>, %q: tensor<f32>) (%k: tensor<i32>, %l: tensor<i32>) {
                %c = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
                %v = stablehlo.select %c, %p, %q : tensor<i1>, tensor<f32>
                %w = stablehlo.select %c, %k, %l : tensor<i1>, tensor<i32>
                stablehlo.return %v, %w : tensor<f32>, tensor<i32>
              }
              return %r#0, %r#1 : tensor<6xf32>, tensor<6xi32>
            }"#,
        );
        let (blocks, all) = (r#"[{}, {"x"}]"#, "[{}]");
        assert_eq!(done.shardings("stablehlo.reduce"), [blocks, blocks, all, all]);
        assert_eq!(done.added("stablehlo.pad"), 0, "blocks of equal size are not padded");
    }

    #[test]
    fn a_reduction_along_an_unsplit_dimension_stays() {
        let done = exclusive_or(r#"[{"x"}, {}]"#);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_sum_that_an_all_reduce_completes_stays() {
        let done = expanded(
            r#"func.func @main(%a: tensor<6x26xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<6xf32> {
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x26xf32>, tensor<f32>) -> tensor<6xf32>
              return %r : tensor<6xf32>
            }"#,
        );
        assert!(done.is_same(), "{}", done.after);
    }

    /// Expands a `top_k` of 64 elements in four blocks.
    fn largest(k: i64) -> Around {
        expanded(&format!(
            r#"func.func @main(%a: tensor<64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> (tensor<{k}xf32>, tensor<{k}xi32>) {{
              %v, %i = chlo.top_k(%a, k = {k}) : tensor<64xf32> -> (tensor<{k}xf32>, tensor<{k}xi32>)
              return %v, %i : tensor<{k}xf32>, tensor<{k}xi32>
            }}"#
        ))
    }

    #[test]
    fn the_largest_elements_are_chosen_from_those_of_each_block() {
        let done = largest(2);
        let blocks = r#"[{"x"}, {}]"#;
        assert_eq!(done.shardings("chlo.top_k"), [blocks, blocks, "[{}]", "[{}]"]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}]", "[{}]"]);
        assert_eq!(done.added("\"stablehlo.gather\"("), 1, "indices into the whole dimension are looked up");
    }

    #[test]
    fn a_top_k_with_candidates_of_more_than_half_of_the_elements_stays() {
        assert_eq!(largest(8).added("chlo.top_k"), 1);
        assert!(largest(9).is_same());
    }
}
