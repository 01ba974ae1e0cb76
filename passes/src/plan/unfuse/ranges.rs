//! Ranges of values, computed from ranges of the operands of their producers.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Access, Build, Effect, Module, OpId, OpKind, RegionId, Rewriter, SliceSpec, TensorBuild, UseCounts,
    ValueId, ValueMap, Work, clone_region,
};
use smallvec::SmallVec;

use super::{Sliced, is_worthwhile};
use crate::cost::CostModel;
use crate::plan::free_values::FreeValues;
use crate::plan::line::{Line, is_plain};
use crate::rules::rule_of;
use crate::rules::sharding_rule::{FactorIndex, ShardingRule, TensorMapping};

/// The maximum number of ranges that are visited for the slices of one value, or for one join.
const MAX_RANGES: usize = 128;

/// A range along one dimension of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Range {
    pub(super) value: ValueId,
    pub(super) dim: usize,
    pub(super) start: i64,
    pub(super) limit: i64,
}

/// For each operand, the dimension of which a range is needed; `None` if the full operand is needed.
pub(super) type OperandDims = SmallVec<[Option<usize>; 3]>;

/// Ranges that are already computed, so that each is computed once.
pub(super) type ComputedRanges = FxHashMap<Range, ValueId>;

/// The use counts of values, and the operations through which ranges are traced (those of one region).
#[derive(Clone, Copy)]
pub(super) struct Ranges<'a> {
    pub(super) readers: &'a UseCounts,
    pub(super) local: &'a FxHashSet<OpId>,
}

impl Ranges<'_> {
    /// Returns the producer of a value, if it computes a range along `dim` from ranges of its operands. `None` if the range must be a slice
    /// of the value. A value with other users must be sliced, unless its producer only moves data or all users are slices
    /// (`is_read_by_ranges`).
    fn step(
        &self,
        module: &Module,
        value: ValueId,
        dim: usize,
        is_read_by_ranges: bool,
    ) -> Option<(OpId, OperandDims)> {
        let op = module.def_op(value).filter(|op| self.local.contains(op))?;
        let kind = &module.ops[op].kind;
        let only_moves = matches!(
            kind,
            OpKind::Transpose { .. } | OpKind::Reshape | OpKind::BroadcastInDim { .. } | OpKind::Convert
        );
        if !only_moves && !is_read_by_ranges && self.readers.get(value) != 1 {
            return None;
        }
        Some((op, operand_dims(module, op, dim)?))
    }

    /// Inserts the computation of a range before the current operation.
    pub(super) fn make(
        &self,
        rw: &mut Rewriter<'_>,
        made: &mut ComputedRanges,
        range: Range,
        is_read_by_ranges: bool,
    ) -> ValueId {
        let Range { value, dim, start, limit } = range;
        if full_range(rw.module, value, dim) == Some((start, limit)) {
            return value;
        }
        if let Some(&made) = made.get(&range) {
            return made;
        }
        let part = match self.step(rw.module, value, dim, is_read_by_ranges) {
            Some((op, dims)) => {
                let operands = rw.module.ops[op].operands.clone();
                let mut part = |(&value, dim): (&ValueId, &Option<usize>)| match *dim {
                    Some(dim) => self.make(rw, made, Range { value, dim, start, limit }, false),
                    None => value,
                };
                let parts: SmallVec<[ValueId; 3]> = operands.iter().zip(&dims).map(&mut part).collect();
                part_of(rw, op, &parts, dim, limit - start)
            }
            None => slice(rw, range),
        };
        made.insert(range, part);
        part
    }
}

/// Returns the full extent of a dimension as a range.
fn full_range(module: &Module, value: ValueId, dim: usize) -> Option<(i64, i64)> {
    Some((0, *module.shape(value).get(dim)?))
}

/// Returns the dimensions of the operands along which ranges suffice to compute a range along dimension `dim` of the result.
fn operand_dims(module: &Module, op: OpId, dim: usize) -> Option<OperandDims> {
    let rule = rule_of_ranges(module, op)?;
    let &[factor] = rule.results.first()?.dims.get(dim)?.as_slice() else { return None };
    let result = *module.ops[op].results.first()?;
    (rule.factors[usize::from(factor)].size == module.shape(result)[dim]).then_some(())?;
    dims_of(&rule, factor)
}

/// Returns the rule of an operation that may be computed range by range: its attributes contain no sizes or positions.
pub(super) fn rule_of_ranges(module: &Module, op: OpId) -> Option<ShardingRule> {
    let data = &module.ops[op];
    let is_known = match &data.kind {
        OpKind::DotGeneral(_)
        | OpKind::Transpose { .. }
        | OpKind::Reshape
        | OpKind::BroadcastInDim { .. }
        | OpKind::Reduce { .. } => true,
        OpKind::Convolution(spec) => spec.feature_group_count == 1 && spec.batch_group_count == 1,
        kind => kind.def().access == Access::SamePlace && data.regions.is_empty(),
    };
    let values = data.operands.iter().chain(&data.results);
    let is_plain = data.results.len() == 1 && values.into_iter().all(|&v| is_plain(module, v));
    if !is_known || !is_plain || data.kind.def().effect != Effect::Pure {
        return None;
    }
    let mut rule = rule_of(module, op).filter(|rule| !rule.custom)?;
    if let OpKind::Convolution(spec) = &data.kind {
        // Windows overlap and extend beyond the edges, so spatial dimensions cannot be computed range by range.
        let spatial = [&spec.input.spatial, &spec.kernel.spatial, &spec.output.spatial];
        let tensors = rule.operands.iter_mut().chain(&mut rule.results);
        for (mapping, dims) in tensors.zip(spatial) {
            dims.iter().for_each(|&dim| mapping.dims[dim as usize].clear());
        }
    }
    Some(rule)
}

/// Returns for each operand the dimension that maps to `factor`. `None` if such a dimension also has other factors.
pub(super) fn dims_of(rule: &ShardingRule, factor: FactorIndex) -> Option<OperandDims> {
    let of = |mapping: &TensorMapping| match mapping.find(factor) {
        Some((dim, _)) => (mapping.dims[dim].len() == 1).then_some(Some(dim)),
        None => Some(None),
    };
    rule.operands.iter().map(of).collect()
}

/// Inserts a copy of an operation on ranges of its operands; the result has size `size` along `dim`.
pub(super) fn part_of(
    rw: &mut Rewriter<'_>,
    op: OpId,
    operands: &[ValueId],
    dim: usize,
    size: i64,
) -> ValueId {
    let data = rw.module.ops[op].clone();
    let result = data.results[0];
    let ty = rw.type_with_size(result, dim, size);
    let copied = |&region: &RegionId| clone_region(rw.module, region, &mut ValueMap::new());
    let regions: SmallVec<[RegionId; 1]> = data.regions.iter().map(copied).collect();
    let copy = rw.op(data.kind, operands, &[ty], &regions);
    let part = rw.module.ops[copy].results[0];
    rw.module.shardings.set(part, rw.module.shardings.of(result));
    part
}

/// Inserts the slice that computes a range.
fn slice(rw: &mut Rewriter<'_>, range: Range) -> ValueId {
    let Range { value, dim, start, limit } = range;
    let part = rw.range(value, dim, start, limit);
    rw.module.shardings.set(part, rw.module.shardings.of(value));
    part
}

/// Estimates the cost of computing ranges, if slices are taken as early as possible.
pub(super) struct Search<'a> {
    pub(super) ranges: Ranges<'a>,
    pub(super) module: &'a Module,
    free: &'a FreeValues,
    pub(super) model: &'a CostModel,
    /// The slices that earlier rewrites of the region need; they are not charged again.
    paid: FxHashSet<Range>,
}

/// The cost of computing one or more ranges.
#[derive(Debug, Default)]
pub(super) struct Price {
    /// The cost of the slices at the start of the computation.
    pub(super) cost: f64,
    /// The number of matmuls that compute the ranges.
    products: usize,
    /// The slices at the start of the computation.
    slices: Vec<Range>,
    /// The visited ranges.
    seen: FxHashSet<Range>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        ranges: Ranges<'a>,
        module: &'a Module,
        free: &'a FreeValues,
        model: &'a CostModel,
    ) -> Self {
        Search { ranges, module, free, model, paid: FxHashSet::default() }
    }

    /// Whether the slices of `value` should be computed as separate matmuls. If so, the slices that the new matmuls need are recorded as
    /// existing.
    pub(super) fn pays_off(&mut self, value: ValueId, sliced: &Sliced) -> bool {
        let mut price = Price::default();
        let dim = sliced.line.dim;
        // If the producer cannot be computed range by range, there is no matmul to compute separately.
        if sliced.cost == 0.0 || self.ranges.step(self.module, value, dim, true).is_none() {
            return false;
        }
        for (_, range) in &sliced.ops {
            if self.add(&mut price, *range, true).is_none() {
                return false;
            }
        }
        let pays_off = price.products > 0 && is_worthwhile(sliced.cost, price.cost, self.model.of_links());
        if pays_off {
            self.pay(price);
        }
        pays_off
    }

    /// Records the slices in `price` as existing.
    pub(super) fn pay(&mut self, price: Price) {
        self.paid.extend(price.slices);
    }

    /// Adds the cost of computing a range to `price`. `None` if too many ranges are visited, or if a slice cannot be evenly sharded.
    pub(super) fn add(&self, price: &mut Price, range: Range, is_read_by_ranges: bool) -> Option<()> {
        if full_range(self.module, range.value, range.dim) == Some((range.start, range.limit))
            || self.paid.contains(&range)
            || !price.seen.insert(range)
        {
            return Some(());
        }
        if price.seen.len() > MAX_RANGES {
            return None;
        }
        let Range { value, dim, start, limit } = range;
        let Some((op, dims)) = self.ranges.step(self.module, value, dim, is_read_by_ranges) else {
            price.slices.push(range);
            price.cost += self.cost_of_slice(range)?;
            return Some(());
        };
        let data = &self.module.ops[op];
        if data.kind.def().work == Work::Contraction {
            price.products += 1;
        }
        for (&value, dim) in data.operands.iter().zip(dims) {
            if let Some(dim) = dim {
                self.add(price, Range { value, dim, start, limit }, false)?;
            }
        }
        Some(())
    }

    /// Returns the cost of slicing a value, if the range is evenly sharded by the same axes as the value.
    fn cost_of_slice(&self, range: Range) -> Option<f64> {
        let Range { value, dim, start, limit } = range;
        if self.free.is_free(value) {
            return Some(0.0);
        }
        let Some(line) = Line::of(self.module, value, dim, self.model) else { return Some(0.0) };
        if (limit - start) % line.k != 0 {
            return None;
        }
        let shape = self.module.shape(value);
        let mut taken: SmallVec<[i64; 4]> = shape.iter().copied().collect();
        taken[dim] = limit - start;
        let kind = OpKind::Slice(Box::new(SliceSpec::range(shape, dim, start, limit)));
        line.exchange(&kind, &[shape], &|_| false, &taken)
    }
}

#[cfg(test)]
mod tests {
    use shardc_stablehlo::parse;

    use super::operand_dims;
    use crate::plan::testing::op_named;

    /// Returns which dimensions of the operands of an operation named `name` a range along `dim` of its result needs.
    fn needed(name: &str, dim: usize, program: &str) -> Option<Vec<Option<usize>>> {
        let module = parse(program).unwrap();
        operand_dims(&module, op_named(&module, name), dim).map(|dims| dims.to_vec())
    }

    #[test]
    fn a_range_of_a_matmul_is_a_matmul_with_a_range_of_one_operand() {
        let program = "func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
            %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
            return %p : tensor<8x6xf32> }";
        assert_eq!(needed("stablehlo.dot_general", 0, program), Some(vec![Some(0), None]));
        assert_eq!(needed("stablehlo.dot_general", 1, program), Some(vec![None, Some(1)]));
    }

    #[test]
    fn a_range_of_a_convolution_is_one_of_features_and_not_of_an_image() {
        let program = r#"func.func @main(%x: tensor<2x8x3xf32>, %w: tensor<3x3x6xf32>) -> tensor<2x8x6xf32> {
            %p = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3xf32>, tensor<3x3x6xf32>) -> tensor<2x8x6xf32>
            return %p : tensor<2x8x6xf32> }"#;
        assert_eq!(needed("stablehlo.convolution", 2, program), Some(vec![None, Some(2)]));
        assert_eq!(needed("stablehlo.convolution", 1, program), None);
    }

    #[test]
    fn a_range_of_a_sort_is_no_sort() {
        let program = r#"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
            %s = "stablehlo.sort"(%x) ({
              ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %c : tensor<i1>
            }) : (tensor<8xf32>) -> tensor<8xf32>
            return %s : tensor<8xf32> }"#;
        assert_eq!(needed("stablehlo.sort", 0, program), None);
    }
}
