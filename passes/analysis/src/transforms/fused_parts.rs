//! Fused dimension splitting: replaces indexing after a reshape by slices of the fused dimension, and stacking before a reshape by
//! concatenation along it.
//!
//! Many programs take queries, keys and values from one matmul by `qkv.reshape(b, s, 3, heads, d)` and a slice of the dimension of size 3.
//! Four devices cannot shard a dimension of size 3, so the sharding of the matmul would not propagate through the reshape to the heads. If
//! the matmul is sliced before the reshape instead, the sharding propagates: heads are sharded like the columns of the weight. The backward
//! pass is the reverse: parts that are stacked and then reshaped into one dimension are reshaped first, then concatenated along that
//! dimension.
//!
//! The gradient of such slices is a sum of parts that are padded with zeros. It becomes their concatenation.
//!
//! Conditions:
//! * the sliced or stacked dimension is the major factor of the fused dimension; transposes may be between the reshape and the slice or
//!   stack;
//! * intermediate values have no annotated sharding; every user of the reshaped value is such a slice, and other intermediates have one
//!   user;
//! * padded parts cover the dimension without gaps and overlaps, and the padding value is zero.
//!
//! ```mlir
//! %0 = stablehlo.reshape %qkv : (tensor<8x96xf32>) -> tensor<8x3x4x8xf32>
//! %1 = stablehlo.slice %0 [0:8, 1:2, 0:4, 0:8] : (tensor<8x3x4x8xf32>) -> tensor<8x1x4x8xf32>
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.slice %qkv [0:8, 32:64] : (tensor<8x96xf32>) -> tensor<8x32xf32>
//! %1 = stablehlo.reshape %0 : (tensor<8x32xf32>) -> tensor<8x1x4x8xf32>
//! ```

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{BinaryOp, Build, Module, OpId, OpKind, RegionId, Rewriter, TensorBuild, UseCounts, ValueId};
use smallvec::SmallVec;

use super::fold_pads::{is_zero, padding};
use crate::analysis::regions::program_regions;
use crate::rules::rule_of;

/// The maximum number of padded parts in a sum that is replaced by a concatenation.
const MAX_PARTS: usize = 64;

/// Rewrites slices and joins of fused dimensions everywhere under `body`. Replaced operations remain as dead code.
pub fn fused_parts(module: &mut Module, body: RegionId) {
    let regions = program_regions(module, body);
    for &region in &regions {
        join_pads(module, region);
    }
    let readers = UseCounts::under(module, body);
    for &region in &regions {
        let mut parts = Parts::of(module, region, &readers);
        if parts.slices.is_empty() && parts.joins.is_empty() {
            continue;
        }
        let mut rw = Rewriter::new(module);
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            let new = match (parts.slices.remove(&op), parts.joins.remove(&op)) {
                (Some(slice), _) => slice.range(&mut rw, op),
                (None, Some(join)) => join.along(&mut rw, op),
                (None, None) => None,
            };
            if let Some(new) = new {
                rw.replace(&[new]);
            }
        }
    }
}

/// Replaces sums of parts that are padded with zeros, without overlap, by concatenations.
fn join_pads(module: &mut Module, region: RegionId) {
    for i in 0..module.regions[region].ops.len() {
        let op = module.regions[region].ops[i];
        if let Some((dim, parts)) = padded_parts(module, op) {
            module.ops[op].kind = OpKind::Concatenate { dim: dim as u32 };
            module.ops[op].operands = parts.into_iter().collect();
        }
    }
}

/// Returns the dimension and the parts that a sum concatenates, if its operands are padded parts that cover the result.
fn padded_parts(module: &Module, op: OpId) -> Option<(usize, SmallVec<[ValueId; 4]>)> {
    let is_sum = |op: OpId| matches!(module.ops[op].kind, OpKind::Binary(BinaryOp::Add));
    let mut todo: SmallVec<[OpId; 8]> = is_sum(op).then_some(op).into_iter().collect();
    let mut joined = None;
    let mut parts: SmallVec<[(i64, ValueId); 4]> = SmallVec::new();
    while let Some(sum) = todo.pop() {
        for &addend in &module.ops[sum].operands {
            let def = module.def_op(addend)?;
            if is_sum(def) {
                todo.push(def);
                (todo.len() <= MAX_PARTS).then_some(())?;
                continue;
            }
            // The concatenation replaces this operand, so an annotation on it would be lost.
            module.shardings.of(addend).is_none().then_some(())?;
            let (spec, part, zero) = padding(module, def)?;
            let (shape, whole) = (module.shape(part), module.shape(addend));
            let mut dims = (0..shape.len()).filter(|&d| shape[d] != whole[d]);
            let dim = dims.next().filter(|_| dims.next().is_none())?;
            let is_first = *joined.get_or_insert(dim) == dim;
            (is_first && is_zero(module, zero) && parts.len() < MAX_PARTS).then_some(())?;
            parts.push((spec.low[dim], part));
        }
    }
    let dim = joined?;
    parts.sort_unstable_by_key(|&(low, _)| low);
    let mut end = 0;
    for &(low, part) in &parts {
        (low == end).then_some(())?;
        end += module.shape(part)[dim];
    }
    (end == module.shape(module.ops[op].results[0])[dim]).then_some(())?;
    Some((dim, parts.into_iter().map(|(_, part)| part).collect()))
}

/// The rewrites of a region: the slices after a reshape, and the concatenations (joins) before one.
#[derive(Default)]
struct Parts {
    slices: FxHashMap<OpId, Slice>,
    joins: FxHashMap<OpId, Join>,
}

/// A slice of the major factor of a fused dimension, after a reshape and possibly transposes.
struct Slice {
    fused: Fused,
    /// The reshape that splits the fused dimension.
    reshape: OpId,
    /// The transposes between the reshape and the slice, in program order.
    transposes: SmallVec<[OpId; 2]>,
    /// The dimension along which the slice cuts its operand.
    dim: usize,
}

/// A concatenation that is reshaped into a fused dimension, possibly after transposes.
struct Join {
    fused: Fused,
    concatenation: OpId,
    transposes: SmallVec<[OpId; 2]>,
    /// The dimension along which the operands are concatenated.
    dim: usize,
}

/// A dimension on one side of a reshape that the other side splits into a major factor and other dimensions.
#[derive(Clone, Copy)]
struct Fused {
    dim: usize,
    /// The dimension, on the other side of the reshape, that is the major factor.
    major: usize,
    /// The number of elements of the fused dimension for each index of the major factor.
    row: i64,
}

impl Parts {
    fn of(module: &Module, region: RegionId, readers: &UseCounts) -> Parts {
        let ops = &module.regions[region].ops;
        let local: FxHashSet<OpId> = ops.iter().copied().collect();
        let mut parts = Parts::default();
        // The number of slices of each value along its major factor.
        let mut counts: FxHashMap<ValueId, u32> = FxHashMap::default();
        for &op in ops {
            match module.ops[op].kind {
                OpKind::Slice(_) => {
                    if let Some(slice) = Slice::of(module, op, &local, readers) {
                        *counts.entry(module.ops[op].operands[0]).or_default() += 1;
                        parts.slices.insert(op, slice);
                    }
                }
                OpKind::Reshape => {
                    if let Some(join) = Join::of(module, op, &local, readers) {
                        parts.joins.insert(op, join);
                    }
                }
                _ => {}
            }
        }
        // If an operation other than these slices uses the reshaped value, the value is needed in any case, so its slices stay unchanged.
        parts.slices.retain(|&op, _| {
            let value = module.ops[op].operands[0];
            counts.get(&value) == Some(&readers.get(value))
        });
        parts
    }
}

/// Follows transposes back from a value and one of its dimensions. Each value has one user, except the first if `is_shared`. Returns the
/// producer, the dimension of its result, and the transposes in program order.
fn through_transposes(
    module: &Module,
    (mut value, mut dim): (ValueId, usize),
    local: &FxHashSet<OpId>,
    (readers, mut is_shared): (&UseCounts, bool),
) -> Option<(OpId, usize, SmallVec<[OpId; 2]>)> {
    let mut transposes = SmallVec::new();
    loop {
        let def = module.def_op(value).filter(|op| local.contains(op))?;
        // The rewrite replaces this value, so an annotation on it would be lost.
        if module.shardings.of(value).is_some() || !is_shared && readers.get(value) != 1 {
            return None;
        }
        is_shared = false;
        let OpKind::Transpose { permutation } = &module.ops[def].kind else {
            transposes.reverse();
            return Some((def, dim, transposes));
        };
        transposes.push(def);
        dim = *permutation.get(dim)? as usize;
        value = *module.ops[def].operands.first()?;
    }
}

impl Slice {
    fn of(module: &Module, op: OpId, local: &FxHashSet<OpId>, readers: &UseCounts) -> Option<Slice> {
        let data = &module.ops[op];
        let OpKind::Slice(spec) = &data.kind else { return None };
        let &value = data.operands.first()?;
        let dim = spec.cut_dim(module.shape(value))?;
        let (reshape, major, transposes) = through_transposes(module, (value, dim), local, (readers, true))?;
        let fused = Fused::of(module, reshape, major, true)?;
        Some(Slice { fused, reshape, transposes, dim })
    }

    /// Inserts the equivalent slice of the reshape's operand, followed by the reshape and the transposes.
    fn range(self, rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
        let OpKind::Slice(spec) = &rw.module.ops[op].kind else { return None };
        let (start, limit) = (spec.start[self.dim], spec.limit[self.dim]);
        let source = rw.module.ops[self.reshape].operands[0];
        let Fused { dim, major, row } = self.fused;
        let mut value = rw.range(source, dim, start * row, limit * row);
        let reshaped = rw.module.ops[self.reshape].results[0];
        let ty = rw.type_with_size(reshaped, major, limit - start);
        value = rw.op1(OpKind::Reshape, &[value], ty);
        for transpose in self.transposes {
            value = rw.infer1(rw.module.ops[transpose].kind.clone(), &[value]).ok()?;
        }
        let old = rw.module.ops[op].results[0];
        rw.module.shardings.set(value, rw.module.shardings.of(old));
        Some(value)
    }
}

impl Join {
    fn of(module: &Module, op: OpId, local: &FxHashSet<OpId>, readers: &UseCounts) -> Option<Join> {
        let value = *module.ops[op].operands.first()?;
        (0..module.rank(value)).find_map(|major| {
            let fused = Fused::of(module, op, major, false)?;
            let (def, dim, transposes) = through_transposes(module, (value, major), local, (readers, false))?;
            let along = OpKind::Concatenate { dim: dim as u32 };
            (module.ops[def].kind == along).then_some(Join { fused, concatenation: def, transposes, dim })
        })
    }

    /// Transposes and reshapes each operand of the concatenation, then concatenates the results along the fused dimension.
    fn along(self, rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
        let result = rw.module.ops[op].results[0];
        let Fused { dim, row, .. } = self.fused;
        let mut parts: SmallVec<[ValueId; 4]> = SmallVec::new();
        for part in rw.module.ops[self.concatenation].operands.clone() {
            let size = rw.module.shape(part)[self.dim];
            let mut value = part;
            for &transpose in &self.transposes {
                value = rw.infer1(rw.module.ops[transpose].kind.clone(), &[value]).ok()?;
            }
            let ty = rw.type_with_size(result, dim, size * row);
            parts.push(rw.op1(OpKind::Reshape, &[value], ty));
        }
        let ty = rw.module.values[result].ty;
        let joined = rw.op1(OpKind::Concatenate { dim: dim as u32 }, &parts, ty);
        rw.module.shardings.set(joined, rw.module.shardings.of(result));
        Some(joined)
    }
}

impl Fused {
    /// Returns the fused dimension whose major factor is `major`, a dimension on the other side of a reshape. If `is_apart`, the reshape
    /// splits the fused dimension, which is in its operand; otherwise it forms the fused dimension, which is in its result.
    fn of(module: &Module, reshape: OpId, major: usize, is_apart: bool) -> Option<Fused> {
        let data = &module.ops[reshape];
        let is_known = |&v: &ValueId| module.tensor(v).is_some_and(|ty| ty.is_static());
        if !matches!(data.kind, OpKind::Reshape) || !data.operands.iter().chain(&data.results).all(is_known) {
            return None;
        }
        let rule = rule_of(module, reshape).filter(|rule| !rule.custom)?;
        let (fused, apart) = (rule.operands.first()?, rule.results.first()?);
        let (fused, apart) = if is_apart { (fused, apart) } else { (apart, fused) };
        let &[factor] = apart.dims.get(major)?.as_slice() else { return None };
        let (dim, place) = fused.find(factor)?;
        let factors = &fused.dims[dim];
        let size = |&f: &u16| rule.factors[usize::from(f)].size;
        let side = if is_apart { data.results.first() } else { data.operands.first() };
        let is_whole = module.shape(*side?).get(major) == Some(&size(&factor));
        let row = factors.iter().skip(1).map(size).product();
        (place == 0 && factors.len() > 1 && is_whole && row > 1).then_some(Fused { dim, major, row })
    }
}
