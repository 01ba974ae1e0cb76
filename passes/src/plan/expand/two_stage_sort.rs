//! Two-stage sort along a sharded dimension, if only the first or last elements of the result are used.
//!
//! Each device sorts its block and keeps its candidates: as many elements from the used end as the slices take. The candidates are
//! all-gathered and sorted again. Candidates are gathered in the order of the blocks, so that a stable sort stays stable.
//!
//! Conditions:
//! * Every use of every result is a slice with stride 1 along the sorted dimension, and all slices take elements from the same end.
//! * All candidates together have at most half of the dimension's elements. If an all-to-all could shard another dimension instead, the
//!   candidates have at most as many elements as one block.
//!
//! If the number of blocks does not divide the dimension, a flag that marks padding becomes the first sort key. Padding then comes after
//! all elements if the first elements are used, and before all elements otherwise.
//!
//! ```mlir
//! %0 = "stablehlo.sort"(%x) ... : (tensor<65536xf32>) -> tensor<65536xf32>       // 8 blocks
//! %1 = stablehlo.slice %0 [0:32]
//! // becomes
//! %0 = stablehlo.reshape %x : (tensor<65536xf32>) -> tensor<8x8192xf32>
//! %1 = "stablehlo.sort"(%0) ... : (tensor<8x8192xf32>) -> tensor<8x8192xf32>     // along dimension 1
//! %2 = stablehlo.slice %1 [0:8, 0:32]
//! %3 = stablehlo.reshape %2 : (tensor<8x32xf32>) -> tensor<256xf32>              // gathered
//! %4 = "stablehlo.sort"(%3) ... : (tensor<256xf32>) -> tensor<256xf32>
//! %5 = stablehlo.slice %4 [0:32]
//! ```

use shardc_ir::{
    Build, Builder, CompareDirection, DType, DimSharding, Module, OpId, OpKind, ReductionKind, RegionId,
    Uses, ValueId, ValueMap, clone_op,
};
use smallvec::SmallVec;

use super::Steps;
use crate::analysis::reducer::identity;

/// The end of a sorted dimension that is used, and the number of used elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First(i64),
    Last(i64),
}

impl End {
    fn len(self) -> i64 {
        match self {
            End::First(n) | End::Last(n) => n,
        }
    }
}

impl Steps<'_, '_> {
    /// Expands a sort along `dim`, counted from the last dimension if it is negative.
    pub(super) fn sort(&mut self, dim: i64, stable: Option<bool>, uses: &Uses) -> Option<()> {
        let module = &*self.rw.module;
        let data = &module.ops[self.at];
        let (operands, results) = (data.operands.clone(), data.results.clone());
        let region = *data.regions.first()?;
        let shape = module.tensor(*operands.first()?)?.shape.to_vec();
        let along = usize::try_from(if dim < 0 { dim + shape.len() as i64 } else { dim }).ok()?;
        let size = *shape.get(along)?;
        let dtypes: Vec<DType> =
            operands.iter().map(|&v| Some(module.tensor(v)?.dtype)).collect::<Option<_>>()?;
        let (end, slices) = used_end(module, &results, along, size, uses)?;
        let is_split = |v: &ValueId| self.split_dims(*v, [along]).is_some_and(|split| !split.is_empty());
        let split_operand = operands.iter().copied().find(is_split)?;
        let &[(_, blocks)] = self.split_dims(split_operand, [along])?.as_slice() else { return None };
        let mut dims = module.shardings.sharding_of(split_operand)?.dims.to_vec();
        let block = (size + blocks - 1) / blocks;
        let few = end.len().min(block);
        let is_free = |(d, &n): (usize, &i64)| {
            d != along && n % blocks == 0 && dims.get(d).is_some_and(|dim| dim.axes.is_empty())
        };
        let limit = if shape.iter().enumerate().any(is_free) { block } else { size / 2 };
        if few == 0 || few * blocks > limit {
            return None;
        }
        // A flag marks padding, so that padding is sorted to the unused end. The fill value itself is arbitrary.
        let is_padded = size % blocks != 0;
        let fills = dtypes.iter().map(|&dtype| identity(zero_of(dtype), dtype)).collect::<Option<Vec<_>>>();
        let fills = fills.filter(|_| is_padded).unwrap_or_default();
        if is_padded && fills.is_empty() {
            return None;
        }

        let mut parts = Vec::with_capacity(operands.len() + 1);
        for (i, (&operand, &dtype)) in operands.iter().zip(&dtypes).enumerate() {
            let is_alike =
                self.rw.module.shardings.sharding_of(operand).is_some_and(|s| s.dims.as_slice() == dims);
            let value = if is_alike { operand } else { self.reshard(operand, &dims) };
            let fill = match fills.get(i) {
                Some(bytes) => self.splat(bytes, dtype),
                // Blocks of equal size are not padded, and the fill value is unused.
                None => value,
            };
            parts.push(self.blocks(value, &[(along, blocks)], fill)?);
        }
        let mut keys = dtypes.clone();
        let mut region = region;
        if is_padded {
            let no = self.splat(&[0], DType::I1);
            let broadcast = OpKind::BroadcastInDim { dims: Default::default() };
            let real = self.emit(broadcast, &[no], &shape, DType::I1, &dims);
            let yes = self.splat(&[1], DType::I1);
            parts.push(self.blocks(real, &[(along, blocks)], yes)?);
            keys.push(DType::I1);
            region = flagged(self.rw.module, region, &keys, end);
        }

        // Sort each block.
        let mut step_shape = self.rw.module.tensor(*parts.first()?)?.shape.to_vec();
        let mut step_dims = self.rw.module.shardings.sharding_of(*parts.first()?)?.dims.to_vec();
        let sorted = self.sort_step(&parts, (along + 1, stable), region, &keys, (&step_shape, &step_dims));
        let start = if matches!(end, End::First(_)) { 0 } else { block - few };
        step_shape[along + 1] = few;
        let spec = |shape: &[i64]| shardc_ir::SliceSpec::range(shape, along + 1, start, start + few);
        let mut gathered = Vec::with_capacity(sorted.len());
        let (flat_shape, flat_dims) = {
            let (mut shape, mut dims) = (step_shape.clone(), step_dims.clone());
            shape.remove(along + 1);
            dims.remove(along + 1);
            shape[along] = few * blocks;
            (shape, dims)
        };
        dims[along] = DimSharding::default();
        for (value, &dtype) in sorted.into_iter().zip(&keys) {
            let kind = OpKind::Slice(Box::new(spec(self.rw.module.shape(value))));
            let kept = self.emit(kind, &[value], &step_shape, dtype, &step_dims);
            let flat = self.emit(OpKind::Reshape, &[kept], &flat_shape, dtype, &flat_dims);
            gathered.push(self.reshard(flat, &dims));
        }
        step_dims.clear();

        // Sort all candidates.
        let last = {
            let copy = shardc_ir::clone_region(self.rw.module, region, &mut ValueMap::new());
            self.sort_step(&gathered, (along, stable), copy, &keys, (&flat_shape, &dims))
        };
        let shift = if matches!(end, End::First(_)) { 0 } else { few * blocks - size };
        for (slice, i) in slices {
            let data = &mut self.rw.module.ops[slice];
            data.operands[0] = *last.get(i)?;
            if let OpKind::Slice(spec) = &mut data.kind {
                spec.start[along] += shift;
                spec.limit[along] += shift;
            }
        }
        self.rw.erase();
        Some(())
    }

    /// Emits a sort of `operands` along a dimension, and returns its results.
    fn sort_step(
        &mut self,
        operands: &[ValueId],
        (along, stable): (usize, Option<bool>),
        region: RegionId,
        dtypes: &[DType],
        (shape, dims): (&[i64], &[DimSharding]),
    ) -> Vec<ValueId> {
        let types: Vec<_> = dtypes.iter().map(|&dtype| self.rw.module.types.tensor(shape, dtype)).collect();
        let kind = OpKind::Sort { dim: Some(along as i64), stable };
        let op = self.rw.op(kind, operands, &types, &[region]);
        let results = self.rw.module.ops[op].results.to_vec();
        for &result in &results {
            self.place(result, dims);
        }
        results
    }
}

/// Returns a reduction whose identity is zero.
fn zero_of(dtype: DType) -> ReductionKind {
    if dtype == DType::I1 { ReductionKind::Or } else { ReductionKind::Add }
}

/// Returns the end of dimension `along` from which all slices of `results` take elements, and each slice with the index of its result.
/// `None` if a result has any other use.
fn used_end(
    module: &Module,
    results: &[ValueId],
    along: usize,
    size: i64,
    uses: &Uses,
) -> Option<(End, Vec<(OpId, usize)>)> {
    let mut slices = Vec::new();
    let (mut low, mut high) = (size, 0);
    for (i, &result) in results.iter().enumerate() {
        for &(op, operand) in uses.of(result) {
            let data = &module.ops[op];
            let OpKind::Slice(spec) = &data.kind else { return None };
            if data.operands.get(operand as usize) != Some(&result) || spec.stride.get(along) != Some(&1) {
                return None;
            }
            low = low.min(*spec.start.get(along)?);
            high = high.max(*spec.limit.get(along)?);
            slices.push((op, i));
        }
    }
    let end = if high <= size - low { End::First(high) } else { End::Last(size - low) };
    (!slices.is_empty()).then_some((end, slices))
}

/// Returns a comparator that first compares the last pair of its arguments, the flags that mark padding. Padding comes after all elements
/// if the first elements are used, and before them if the last elements are used.
fn flagged(module: &mut Module, region: RegionId, dtypes: &[DType], end: End) -> RegionId {
    let types: Vec<_> = dtypes.iter().flat_map(|&t| [t, t]).map(|t| module.types.tensor(&[], t)).collect();
    let copy = module.add_region(&types);
    let new_args = module.regions[copy].args.clone();
    let mut map = ValueMap::new();
    for (&old, &new) in module.regions[region].args.iter().zip(&new_args) {
        map.insert(old, new);
    }
    let mut ops = Vec::new();
    let mut returned: SmallVec<[ValueId; 3]> = SmallVec::new();
    for op in module.regions[region].ops.clone() {
        match module.ops[op].kind {
            OpKind::Return => returned = module.ops[op].operands.iter().map(|&v| map.get(v)).collect(),
            _ => ops.push(clone_op(module, op, &mut map)),
        }
    }
    let truth = module.types.tensor(&[], DType::I1);
    let &[.., left, right] = new_args.as_slice() else { return copy };
    let mut b = Builder::new(module);
    let same = b.op1(OpKind::Compare(CompareDirection::EQ, None), &[left, right], truth);
    let padding_last = if matches!(end, End::First(_)) { right } else { left };
    let operands: Vec<ValueId> = [same].into_iter().chain(returned).chain([padding_last]).collect();
    let comes_first = b.op1(OpKind::Select, &operands, truth);
    b.ret(&[comes_first]);
    ops.extend(b.take());
    module.set_ops(copy, ops);
    copy
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Expands a sort `%s` of `%a`, which is sharded into four blocks, with these uses.
    fn expanded(size: i64, results: &str, uses: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<{size}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> {results} {{
              %s = "stablehlo.sort"(%a) <{{dimension = 0 : i64}}> ({{
                ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                  %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
                  stablehlo.return %c : tensor<i1>
              }}) : (tensor<{size}xf32>) -> tensor<{size}xf32>
              {uses}
            }}"#
        );
        around("expand-sharded-ops", r#""x"=4"#, &program)
    }

    #[test]
    fn the_first_elements_are_sorted_from_those_of_each_block() {
        let done = expanded(
            64,
            "tensor<3xf32>",
            "%r = stablehlo.slice %s [0:3] : (tensor<64xf32>) -> tensor<3xf32>
            return %r : tensor<3xf32>",
        );
        assert_eq!(done.shardings("stablehlo.sort"), [r#"[{"x"}, {}]"#, "[{}]"]);
        assert!(done.after.contains("[0:4, 0:3]"), "{}", done.after);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}]"]);
    }

    #[test]
    fn the_last_elements_of_uneven_blocks_are_sorted_behind_padding() {
        let done = expanded(
            62,
            "tensor<3xf32>",
            "%r = stablehlo.slice %s [59:62] : (tensor<62xf32>) -> tensor<3xf32>
            return %r : tensor<3xf32>",
        );
        let blocks = r#"[{"x"}, {}]"#;
        assert_eq!(
            done.shardings("stablehlo.sort"),
            [blocks, blocks, "[{}]", "[{}]"],
            "elements and a flag of padding"
        );
        assert!(done.after.contains("[0:4, 13:16]") && done.after.contains("[9:12]"), "{}", done.after);
    }

    #[test]
    fn a_sort_that_is_used_as_a_whole_stays() {
        let done = expanded(
            64,
            "(tensor<64xf32>, tensor<3xf32>)",
            "%r = stablehlo.slice %s [0:3] : (tensor<64xf32>) -> tensor<3xf32>
            return %s, %r : tensor<64xf32>, tensor<3xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_sort_of_which_both_ends_are_used_stays() {
        let done = expanded(
            64,
            "(tensor<3xf32>, tensor<3xf32>)",
            "%r = stablehlo.slice %s [0:3] : (tensor<64xf32>) -> tensor<3xf32>
            %t = stablehlo.slice %s [61:64] : (tensor<64xf32>) -> tensor<3xf32>
            return %r, %t : tensor<3xf32>, tensor<3xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_sort_of_which_every_second_element_is_used_stays() {
        let done = expanded(
            64,
            "tensor<2xf32>",
            "%r = stablehlo.slice %s [0:4:2] : (tensor<64xf32>) -> tensor<2xf32>
            return %r : tensor<2xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_sort_with_candidates_of_more_than_half_of_the_elements_stays() {
        let first = |n: i64| {
            let uses = format!(
                "%r = stablehlo.slice %s [0:{n}] : (tensor<64xf32>) -> tensor<{n}xf32>
                return %r : tensor<{n}xf32>"
            );
            expanded(64, &format!("tensor<{n}xf32>"), &uses)
        };
        assert!(!first(8).is_same());
        assert!(first(9).is_same());
    }
}
