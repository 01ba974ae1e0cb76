//! Legality of partitioning: which factors of an operation may be sharded, and the effect on its results.
//!
//! Conditions are per operation, in [`split`]. Each factor is one of:
//!
//! * freely sharded: each device computes its shard of the result (`Split::Plain`);
//! * sharded with a halo exchange of windows (`Split::Halo`);
//! * sharded so that results are unreduced, with or without a halo (`Split::Unreduced`, `Split::UnreducedHalo`);
//! * not shardable (`Split::No`): the dimension is all-gathered before the operation. The result is correct, and the planner warns if the
//!   all-gather costs communication.
//!
//! [`localize`](crate::localize) relies on all of these conditions.
//!
//! ```mlir
//! // [i, k] x [k, j] -> [i, j]: i and j are Split::Plain, k is Split::Unreduced(Add)
//! %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
//! ```

use shardc_ir::{
    ConvSpec, DType, DimList, Module, OpId, OpKind, Parts, ReductionKind, ScatterSpec, SizeList, ValueId,
    WindowSpec,
};

use smallvec::SmallVec;

use super::free_values::FreeValues;
use crate::analysis::reducer::{
    collective_reduction, identity, init_counts_for_nothing, is_idempotent, is_identity, reduction_of,
};
use crate::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};
use crate::rules::works_on_parts;
use crate::sharding::sub_axes::overlaps;
use crate::windows::{is_windowed, takes_whole};

/// The effect of sharding a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// Each device computes its shard of the result.
    Plain,
    /// Each device computes its shard of the result from windows of the operands, which a halo exchange with its neighbors completes.
    Halo,
    /// Each device's result is a partial result: the value is unreduced.
    Unreduced(ReductionKind),
    /// Each device's result is a partial result, computed from windows that a halo exchange completes.
    UnreducedHalo(ReductionKind),
    /// The factor must not be sharded.
    No,
}

impl Split {
    /// Whether sharding the factor needs a halo exchange.
    pub(crate) fn is_windowed(self) -> bool {
        matches!(self, Split::Halo | Split::UnreducedHalo(_))
    }

    /// Returns the reduction that combines partial results, if any.
    pub(crate) fn reduction(self) -> Option<ReductionKind> {
        match self {
            Split::Unreduced(kind) | Split::UnreducedHalo(kind) => Some(kind),
            Split::Plain | Split::Halo | Split::No => None,
        }
    }
}

/// Returns the effect of sharding factor `index` of `op`.
pub(crate) fn split(module: &Module, op: OpId, rule: &ShardingRule, index: FactorIndex) -> Split {
    let factor = rule.factors[usize::from(index)];
    // The size of a block would depend on a size that is not known at compile time.
    let values = module.ops[op].operands.iter().chain(&module.ops[op].results);
    if values.copied().any(|v| module.stored(v).is_some_and(|ty| !ty.is_static())) {
        return Split::No;
    }
    // A function that is not inlined is called on shards, so any sharding of its arguments is legal.
    if matches!(&module.ops[op].kind, OpKind::CustomCall(spec) if spec.kept_callee().is_some()) {
        return pass_through(factor);
    }
    if let Some(split) = split_windows(module, op, rule, index) {
        return split;
    }
    // `split_windows` has already handled windows.
    if matches!(factor.kind, FactorKind::NeedReplication | FactorKind::Permutation) {
        return Split::No;
    }
    // A pass-through factor that only operands have is a dimension of size one. If the dimension is sharded, only one device holds its
    // element, but all devices need the element.
    let is_in = |mappings: &[TensorMapping]| mappings.iter().any(|m| m.find(index).is_some());
    if factor.kind == FactorKind::PassThrough && is_in(&rule.operands) && !is_in(&rule.results) {
        return Split::No;
    }
    let data = &module.ops[op];
    let in_operand = |operand: usize| rule.operands.get(operand).and_then(|m| m.find(index)).map(|(d, _)| d);
    let plain_if = |ok: bool| if ok { Split::Plain } else { Split::No };
    match data.kind.def().parts {
        // `split_windows` has already handled factors with windows. A collective that is planned is inside a manual computation. A device
        // communicates only with devices that have the same coordinates along the free axes, so it can apply the collective to its shard
        // unchanged.
        Parts::AlongPassThrough => return pass_through(factor),
        Parts::Whole => return Split::No,
        Parts::Depends => {}
    }
    match &data.kind {
        // A dimension of the operand and a dimension of the result share a factor only if their sizes have a common divisor. Other factors
        // are only in the operand or only in the result.
        OpKind::Reshape | OpKind::BitcastConvert => {
            if is_in(&rule.operands) && is_in(&rule.results) {
                pass_through(factor)
            } else {
                Split::No
            }
        }
        OpKind::CustomCall(spec) => {
            let found = rule.operands.iter().enumerate().find_map(|(i, m)| Some((i, m.find(index)?.0)));
            match found {
                Some((i, dim))
                    if is_in(&rule.results) && works_on_parts(module, op, &spec.target, i, dim) =>
                {
                    pass_through(factor)
                }
                _ => Split::No,
            }
        }
        OpKind::TopK { .. } => plain_if(in_operand(0).is_some_and(|d| d + 1 < module.rank(data.operands[0]))),
        OpKind::DynamicSlice { .. } => match factor.kind {
            FactorKind::Reduction => sum_of_parts(module, op),
            _ => Split::Plain,
        },
        // `split_windows` has already handled sliced dimensions with a halo exchange. The remaining cases are dimensions that are not
        // sliced, and slices that are computed as an all-reduce.
        OpKind::Slice(_) => match factor.kind {
            FactorKind::Reduction => sum_of_parts(module, op),
            _ => pass_through(factor),
        },
        // A dimension that the update covers only partly has a separate factor in the update, which must not be sharded.
        OpKind::DynamicUpdateSlice => plain_if(in_operand(0).is_some()),
        OpKind::DotGeneral(_) | OpKind::RaggedDot(_) => match factor.kind {
            FactorKind::Reduction => sum_unless_bool(module, op),
            _ => Split::Plain,
        },
        OpKind::Convolution(spec) => match factor.kind {
            FactorKind::Reduction => split_sum(module, op, spec, rule, index),
            // The factor within a group is minor to the group in some dimension, so it is only sharded if each device has one group.
            _ => Split::Plain,
        },
        // The rule does not map an initial value that is not a scalar. Such an initial value has the shape of the unsharded result.
        OpKind::Reduce { .. } if data.operands.last().is_some_and(|&init| module.rank(init) > 0) => Split::No,
        OpKind::Reduce { .. } => match factor.kind {
            FactorKind::Reduction => split_reduce(module, op),
            _ => Split::Plain,
        },
        OpKind::Sort { dim, .. } => {
            let dim = dim.unwrap_or(-1);
            let rank = data.operands.first().map_or(0, |&v| module.rank(v)) as i64;
            let along = if dim < 0 { dim + rank } else { dim };
            plain_if(in_operand(0).is_some_and(|d| d as i64 != along))
        }
        OpKind::Gather(spec) => match factor.kind {
            FactorKind::Reduction => match in_operand(0) {
                Some(d) if spec.start_index_map.contains(&(d as u32)) => sum_of_parts(module, op),
                _ => Split::No,
            },
            _ => Split::Plain,
        },
        OpKind::Scatter(spec) => {
            let one_input = data.operands.len() == 3;
            // Padding of the updates is ignored because its index is out of bounds, so there must be indices.
            let has_indices = !spec.scatter_dims_to_operand_dims.is_empty();
            match factor.kind {
                FactorKind::Reduction if one_input && has_indices => {
                    collective_reduction(module, op).map_or(Split::No, Split::Unreduced)
                }
                FactorKind::Reduction => Split::No,
                // If an inserted dimension is sharded, each device subtracts the offset of its block from the indices, so there must be
                // indices for it.
                _ => plain_if(in_operand(0).is_none_or(|d| {
                    !spec.inserted_window_dims.contains(&(d as u32))
                        || spec.scatter_dims_to_operand_dims.contains(&(d as u32))
                })),
            }
        }
        _ => Split::No,
    }
}

/// Returns the effect of sharding a dimension of the result that needs a halo exchange; `None` for other dimensions. The corresponding
/// operand dimensions must have only the same factor.
fn split_windows(module: &Module, op: OpId, rule: &ShardingRule, index: FactorIndex) -> Option<Split> {
    let data = &module.ops[op];
    let operand = *data.operands.first()?;
    let (dim, _) = rule.results.first()?.find(index)?;
    if !is_windowed(&data.kind, module.shape(operand), dim) {
        return None;
    }
    let from = match &data.kind {
        OpKind::Convolution(spec) => {
            let i = spec.output.spatial.iter().position(|&d| d as usize == dim)?;
            *spec.input.spatial.get(i)? as usize
        }
        _ => dim,
    };
    let only = |mapping: &TensorMapping, dim: usize| {
        mapping.dims.iter().enumerate().all(|(d, factors)| factors.contains(&index) == (d == dim))
            && mapping.dims.get(dim).is_some_and(|factors| factors.len() == 1)
    };
    let inputs = match &data.kind {
        OpKind::Concatenate { .. } | OpKind::Splice(_) => data.operands.len(),
        OpKind::ReduceWindow(_) => data.operands.len() / 2,
        OpKind::SelectAndScatter(_) => 2,
        _ => 1,
    };
    if let OpKind::ReduceWindow(spec) = &data.kind
        && reaches_beyond(spec, dim)
        // Padding has the initial value, and each window also starts from the initial value. Only the identity of the reduction may be
        // counted more than once.
        && !init_counts_for_nothing(module, op)
    {
        return Some(Split::No);
    }
    // Windows in the padding scatter zeros, and zero is the identity only of addition.
    if matches!(data.kind, OpKind::SelectAndScatter(_)) {
        let scatter = data.regions.get(1).and_then(|&r| reduction_of(module, r, 1));
        if scatter != Some(ReductionKind::Add) {
            return Some(Split::No);
        }
    }
    // Replicated operands are not sharded along with the others (see [`keep_replicated_operands`]).
    let is_whole = |m: &TensorMapping| takes_whole(&data.kind) && m.find(index).is_none();
    let fits = rule.results.iter().all(|m| only(m, dim))
        && rule.operands.iter().take(inputs).all(|m| only(m, from) || is_whole(m))
        && rule.operands.iter().skip(inputs).all(|m| m.find(index).is_none());
    Some(if fits { Split::Halo } else { Split::No })
}

/// Whether windows along `dim` contain positions without elements: padding, or gaps of base dilation.
fn reaches_beyond(spec: &WindowSpec, dim: usize) -> bool {
    let (low, high) = spec.padding.get(dim).copied().unwrap_or((0, 0));
    low > 0 || high > 0 || spec.base_dilations.get(dim).is_some_and(|&n| n > 1)
}

/// Returns the rule that the planner uses, which allows more than the rule of propagation:
///
/// * A spatial dimension of a convolution's input may be sharded across windows or, as in the gradient of a kernel, within a window. The
///   propagation rule allows both factors at once. The planner keeps only the larger factor. If the result is sharded along this dimension
///   and the blocks of the kernel would be uneven, the planner keeps the factor across windows instead.
/// * The source of a `select_and_scatter` is sharded like its operand.
/// * A `dynamic_slice` of a sharded dimension is a reduction over its blocks; its result is not sharded along the dimension.
/// * For a `scatter` of single elements, each element is updated on the device that holds it.
/// * The columns of the right-hand side of a `triangular_solve` are a batch dimension.
/// * A `reshape` keeps a sharded dimension of size one on the device that holds its element.
pub(crate) fn planning_rule(module: &Module, op: OpId, mut rule: ShardingRule) -> ShardingRule {
    let data = &module.ops[op];
    match &data.kind {
        OpKind::Convolution(spec) => {
            for i in 0..spec.input.spatial.len() {
                split_one_way(module, op, spec, i, &mut rule);
            }
        }
        OpKind::Scatter(spec) => {
            let (Some(&input), Some(&update)) = (data.operands.first(), data.operands.last()) else {
                return rule;
            };
            for dim in single_windows(spec, module.shape(input), module.shape(update)) {
                let factors = rule.operands.first().and_then(|m| m.dims.get(dim)).cloned();
                for factor in factors.unwrap_or_default() {
                    rule.factors[usize::from(factor)].kind = FactorKind::PassThrough;
                }
            }
        }
        OpKind::DynamicSlice { sizes } => {
            let (Some(operand), Some(result)) = (rule.operands.first(), rule.results.first_mut()) else {
                return rule;
            };
            let Some(&value) = data.operands.first() else { return rule };
            let dims = operand.dims.iter().zip(&mut result.dims).zip(sizes.iter().zip(module.shape(value)));
            for ((from, to), _) in dims.filter(|(_, (m, n))| m != n) {
                to.clear();
                for &factor in from {
                    rule.factors[usize::from(factor)].kind = FactorKind::Reduction;
                }
            }
        }
        OpKind::Reshape => pair_single_elements(module, op, &mut rule),
        OpKind::SelectAndScatter(_) => {
            let [operand, source, ..] = rule.operands.as_mut_slice() else { return rule };
            for (of_source, of_operand) in source.dims.iter_mut().zip(&operand.dims) {
                of_source.clone_from(of_operand);
            }
        }
        OpKind::TriangularSolve(_) => {
            let (Some(matrix), Some(sides)) = (rule.operands.first(), rule.operands.get(1)) else {
                return rule;
            };
            for (index, factor) in (0..).zip(&mut rule.factors) {
                let is_result = rule.results.iter().any(|m| m.find(index).is_some());
                if is_result && matrix.find(index).is_none() && sides.find(index).is_some() {
                    factor.kind = FactorKind::PassThrough;
                }
            }
        }
        _ => {}
    }
    rule
}

/// Allows operands of a `concatenate` to be replicated along the concatenated dimension even if axes shard the result along it. Each device
/// then slices its block locally. The rule changes for operands that are already replicated along the dimension or [are
/// free](FreeValues::is_free).
pub(super) fn keep_replicated_operands(
    module: &Module,
    op: OpId,
    rule: &mut ShardingRule,
    free: &FreeValues,
) {
    let data = &module.ops[op];
    let dim = match &data.kind {
        OpKind::Concatenate { dim } => *dim as usize,
        OpKind::Splice(spec) => spec.dim as usize,
        _ => return,
    };
    let wanted = data.results.first().and_then(|&v| module.shardings.sharding_of(v));
    let along = wanted.map_or(&[][..], |s| s.axes(dim));
    for (&value, mapping) in data.operands.iter().zip(&mut rule.operands) {
        // An operand that the same axes shard along another dimension keeps the factor: moving the axes by an all-to-all costs less than an
        // all-gather.
        let is_whole = module.shardings.sharding_of(value).is_none_or(|s| {
            s.axes(dim).is_empty() && !s.split_axes().any(|a| along.iter().any(|&b| overlaps(a, b)))
        });
        if (is_whole || free.is_free(value))
            && let Some(factors) = mapping.dims.get_mut(dim)
        {
            factors.clear();
        }
    }
}

/// Maps two dimensions of size one of a reshape to one factor if they are at the same position and sharded by the same axes. In
/// propagation, each has its own factor.
fn pair_single_elements(module: &Module, op: OpId, rule: &mut ShardingRule) {
    let data = &module.ops[op];
    let (&[operand], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else { return };
    let (Some(from), Some(to)) =
        (module.shardings.sharding_of(operand), module.shardings.sharding_of(result))
    else {
        return;
    };
    let (input, output) = (module.shape(operand), module.shape(result));
    let single = |shape: &[i64], d: usize| shape[d] == 1;
    // The position of a dimension is the product of the sizes of the preceding dimensions.
    let before = |shape: &[i64], d: usize| shape[..d].iter().map(|&n| i128::from(n)).product::<i128>();
    let mut free: SmallVec<[usize; 4]> = (0..output.len()).filter(|&d| single(output, d)).collect();
    for d in (0..input.len()).filter(|&d| single(input, d) && !from.axes(d).is_empty()) {
        let is_same = |&p: &usize| to.axes(p) == from.axes(d) && before(output, p) == before(input, d);
        let Some(i) = free.iter().position(is_same) else { continue };
        let p = free.remove(i);
        let factors = rule.operands.first().and_then(|m| m.dims.get(d)).cloned();
        if let (Some(factors), Some(dim)) =
            (factors, rule.results.first_mut().and_then(|m| m.dims.get_mut(p)))
        {
            *dim = factors;
        }
    }
}

/// Keeps only one factor of spatial dimension `i` of a convolution's input. Returns `None` if the rule or a shape lacks the dimension.
fn split_one_way(
    module: &Module,
    op: OpId,
    spec: &ConvSpec,
    i: usize,
    rule: &mut ShardingRule,
) -> Option<()> {
    let at = |list: &DimList| list.get(i).map(|&d| d as usize);
    let (from, kernel, to) = (at(&spec.input.spatial)?, at(&spec.kernel.spatial)?, at(&spec.output.spatial)?);
    let data = &module.ops[op];
    let (&[_, weights], &[made]) = (data.operands.as_slice(), data.results.as_slice()) else { return None };
    let ways = |value: ValueId, dim: usize| {
        let sharding = module.shardings.sharding_of(value).filter(|s| dim < s.rank());
        sharding.map_or(1, |s| module.meshes[s.mesh].axes_size(s.axes(dim)))
    };
    let (&size, &windows) = (module.shape(weights).get(kernel)?, module.shape(made).get(to)?);
    let [input, of_kernel, ..] = rule.operands.as_mut_slice() else { return None };
    let of_input = input.dims.get_mut(from)?;
    // The larger factor comes first in the rule.
    let within = of_input.first().copied().filter(|&f| of_kernel.find(f).is_some());
    if within.is_none() || ways(weights, kernel) > 1 || size % ways(made, to) == 0 {
        of_input.truncate(1);
        return Some(());
    }
    // Uneven blocks of the kernel would be padded, and the padding would be multiplied by elements of the input.
    let factor = rule.factors.len() as FactorIndex;
    let of_result = rule.results.first_mut()?.dims.get_mut(to)?;
    for &old in of_result.iter() {
        rule.factors[usize::from(old)].size = 1;
    }
    rule.factors.push(Factor { size: windows, kind: FactorKind::Permutation, blocked: false });
    of_kernel.dims.get_mut(kernel)?.clear();
    *of_input = [factor].into_iter().collect();
    *of_result = [factor].into_iter().collect();
    Some(())
}

/// Returns the indexed dimensions of the operand that are window dimensions of size one in the updates. The shapes are global: a device's
/// shard of any dimension may have size one.
pub(crate) fn single_windows(spec: &ScatterSpec, input: &[i64], update: &[i64]) -> Vec<usize> {
    let left = |&d: &usize| {
        !spec.inserted_window_dims.contains(&(d as u32)) && !spec.input_batching_dims.contains(&(d as u32))
    };
    let kept = (0..input.len()).filter(left).zip(&spec.update_window_dims);
    let single = kept.filter(|&(d, &w)| {
        update.get(w as usize) == Some(&1)
            && input[d] > 1
            && spec.scatter_dims_to_operand_dims.contains(&(d as u32))
    });
    single.map(|(d, _)| d).collect()
}

/// Returns the effect of sharding a contracting dimension of a convolution.
fn split_sum(module: &Module, op: OpId, spec: &ConvSpec, rule: &ShardingRule, index: FactorIndex) -> Split {
    let of = |operand: usize| rule.operands.get(operand).and_then(|m| m.find(index)).map(|(d, _)| d as u32);
    let (Some(from), Some(kernel)) = (of(0), of(1)) else { return Split::No };
    let Split::Unreduced(sum) = sum_unless_bool(module, op) else { return Split::No };
    // Each feature group is summed separately; a device computes a partial sum of one group.
    if from == spec.input.feature || sums_whole_dimension(module, op, spec, from as usize) {
        return Split::Unreduced(sum);
    }
    let spatial = spec.input.spatial.iter().zip(&spec.kernel.spatial);
    let alone = |operand: usize, dim: u32| rule.operands[operand].dims[dim as usize].len() == 1;
    let is_spatial = spatial.into_iter().any(|(&l, &r)| l == from && r == kernel);
    if is_spatial && alone(0, from) && alone(1, kernel) { Split::UnreducedHalo(sum) } else { Split::No }
}

fn pass_through(factor: Factor) -> Split {
    if factor.kind == FactorKind::PassThrough { Split::Plain } else { Split::No }
}

/// Returns the effect of a reduction to which the device that holds an element contributes the element, and all other devices contribute
/// zero or `false`.
fn sum_of_parts(module: &Module, op: OpId) -> Split {
    match module.tensor(module.ops[op].results[0]).map(|t| t.dtype) {
        Some(DType::I1) => Split::Unreduced(ReductionKind::Or),
        Some(dtype) if identity(ReductionKind::Add, dtype).is_some() => Split::Unreduced(ReductionKind::Add),
        Some(_) | None => Split::No,
    }
}

/// Returns an unreduced sum, or `Split::No` for booleans.
fn sum_unless_bool(module: &Module, op: OpId) -> Split {
    match module.tensor(module.ops[op].results[0]).map(|t| t.dtype) {
        None | Some(DType::I1) => Split::No,
        Some(_) => Split::Unreduced(ReductionKind::Add),
    }
}

/// Whether a convolution has exactly one window along spatial dimension `dim` of its input, and the window covers the dimension. Otherwise,
/// windows overlap, and a block of the kernel also needs elements of other blocks of the input.
fn sums_whole_dimension(module: &Module, op: OpId, spec: &ConvSpec, dim: usize) -> bool {
    let Some(i) = spec.input.spatial.iter().position(|&d| d as usize == dim) else { return false };
    let data = &module.ops[op];
    let size = |value: ValueId, dims: &DimList| {
        dims.get(i).and_then(|&d| module.shape(value).get(d as usize)).copied()
    };
    let one = |list: &SizeList| list.get(i).is_none_or(|&n| n == 1);
    size(data.results[0], &spec.output.spatial) == Some(1)
        && size(data.operands[0], &spec.input.spatial) == size(data.operands[1], &spec.kernel.spatial)
        && spec.padding.get(i).is_none_or(|&p| p == (0, 0))
        && one(&spec.lhs_dilation)
        && one(&spec.rhs_dilation)
        && spec.reversal.get(i).is_none_or(|&reversed| !reversed)
}

/// Whether there is a collective that combines the partial results of a `reduce`.
pub(super) fn splits_reduce(module: &Module, op: OpId) -> bool {
    split_reduce(module, op) != Split::No
}

/// Returns how the partial results of a `reduce` over a sharded dimension are combined. The initial value must count exactly once. If
/// counting it on several devices would change the result, only the first device starts from it, and the other devices start from the
/// identity.
fn split_reduce(module: &Module, op: OpId) -> Split {
    let data = &module.ops[op];
    let &[_, init] = data.operands.as_slice() else { return Split::No };
    let dtype = module.tensor(init).map(|t| t.dtype);
    match collective_reduction(module, op) {
        Some(kind)
            if is_idempotent(kind)
                || is_identity(module, init, kind)
                || dtype.is_some_and(|dtype| identity(kind, dtype).is_some()) =>
        {
            Split::Unreduced(kind)
        }
        Some(_) | None => Split::No,
    }
}

#[cfg(test)]
mod tests {
    use shardc_stablehlo::parse;

    use super::*;
    use crate::plan::testing::{around, op_named};
    use crate::rules::rule_of;

    /// Returns the effect of sharding dimension `dim` of operand `operand` of the operation named `name`.
    fn split_of(program: &str, name: &str, (operand, dim): (usize, usize)) -> Split {
        let module = parse(program).unwrap();
        let op = op_named(&module, name);
        let rule = planning_rule(&module, op, rule_of(&module, op).unwrap());
        split(&module, op, &rule, rule.operands[operand].dims[dim][0])
    }

    #[test]
    fn a_contracting_dimension_makes_partial_sums() {
        let matmul = |element: &str| {
            format!(
                "func.func @main(%a: tensor<4x8x{element}>, %b: tensor<8x2x{element}>) -> tensor<4x2x{element}> {{
                  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8x{element}>, tensor<8x2x{element}>) -> tensor<4x2x{element}>
                  return %0 : tensor<4x2x{element}> }}"
            )
        };
        let at = |element: &str, place| split_of(&matmul(element), "stablehlo.dot_general", place);
        assert_eq!(at("f32", (0, 0)), Split::Plain);
        assert_eq!(at("f32", (0, 1)), Split::Unreduced(ReductionKind::Add));
        assert_eq!(at("f32", (1, 1)), Split::Plain);
        assert_eq!(at("i1", (0, 1)), Split::No, "a disjunction is no sum");
    }

    #[test]
    fn a_reduced_dimension_is_split_if_a_collective_completes_it() {
        let at = |op: &str, dim: usize| {
            let program = format!(
                "func.func @main(%a: tensor<4x8xi32>, %init: tensor<i32>) -> tensor<4xi32> {{
                  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.{op} across dimensions = [1] : (tensor<4x8xi32>, tensor<i32>) -> tensor<4xi32>
                  return %0 : tensor<4xi32> }}"
            );
            split_of(&program, "stablehlo.reduce", (0, dim))
        };
        assert_eq!(at("add", 1), Split::Unreduced(ReductionKind::Add));
        assert_eq!(at("maximum", 1), Split::Unreduced(ReductionKind::Max));
        assert_eq!(at("xor", 1), Split::No);
        assert_eq!(at("xor", 0), Split::Plain);
    }

    #[test]
    fn a_sorted_dimension_is_not_split() {
        let program = r#"func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
            %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
              ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %c : tensor<i1>
            }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
            return %0 : tensor<4x8xf32> }"#;
        assert_eq!(split_of(program, "stablehlo.sort", (0, 0)), Split::Plain);
        assert_eq!(split_of(program, "stablehlo.sort", (0, 1)), Split::No);
    }

    #[test]
    fn a_sliced_dimension_takes_a_halo_exchange() {
        let program = "func.func @main(%a: tensor<4x8xf32>) -> tensor<4x6xf32> {
            %0 = stablehlo.slice %a [0:4, 1:7] : (tensor<4x8xf32>) -> tensor<4x6xf32>
            return %0 : tensor<4x6xf32> }";
        assert_eq!(split_of(program, "stablehlo.slice", (0, 0)), Split::Plain);
        assert_eq!(split_of(program, "stablehlo.slice", (0, 1)), Split::Halo);
    }

    #[test]
    fn a_dynamic_slice_is_a_sum_over_the_blocks_of_the_sliced_dimension() {
        let at = |element: &str, dim: usize| {
            let program = format!(
                "func.func @main(%a: tensor<4x8x{element}>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<4x6x{element}> {{
                  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [4, 6] : (tensor<4x8x{element}>, tensor<i32>, tensor<i32>) -> tensor<4x6x{element}>
                  return %0 : tensor<4x6x{element}> }}"
            );
            split_of(&program, "stablehlo.dynamic_slice", (0, dim))
        };
        assert_eq!(at("f32", 0), Split::Plain);
        assert_eq!(at("f32", 1), Split::Unreduced(ReductionKind::Add));
        assert_eq!(at("i1", 1), Split::Unreduced(ReductionKind::Or));
    }

    #[test]
    fn padded_windows_start_from_the_identity() {
        let at = |init: &str, padding: &str| {
            let size = if padding == "[0, 0]" { 6 } else { 8 };
            let program = format!(
                r#"func.func @main(%a: tensor<8xf32>) -> tensor<{size}xf32> {{
                  %init = stablehlo.constant dense<{init}> : tensor<f32>
                  %0 = "stablehlo.reduce_window"(%a, %init) <{{padding = dense<[{padding}]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}}> ({{
                    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                      %s = stablehlo.add %p, %q : tensor<f32>
                      stablehlo.return %s : tensor<f32>
                  }}) : (tensor<8xf32>, tensor<f32>) -> tensor<{size}xf32>
                  return %0 : tensor<{size}xf32> }}"#
            );
            split_of(&program, "stablehlo.reduce_window", (0, 0))
        };
        assert_eq!(at("0.0", "[1, 1]"), Split::Halo);
        assert_eq!(at("1.0", "[1, 1]"), Split::No);
        assert_eq!(at("1.0", "[0, 0]"), Split::Halo);
    }

    #[test]
    fn a_tensor_with_a_dynamic_dimension_is_not_split() {
        let program = "func.func @main(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
            %0 = stablehlo.negate %a : tensor<?x8xf32>
            return %0 : tensor<?x8xf32> }";
        assert_eq!(split_of(program, "stablehlo.negate", (0, 1)), Split::No);
        let program = program.replace('?', "4");
        assert_eq!(split_of(&program, "stablehlo.negate", (0, 1)), Split::Plain);
    }

    #[test]
    fn a_scatter_of_single_elements_is_done_where_they_are() {
        let spec = ScatterSpec {
            update_window_dims: [0, 1].into_iter().collect(),
            scatter_dims_to_operand_dims: [0].into_iter().collect(),
            ..ScatterSpec::default()
        };
        assert_eq!(single_windows(&spec, &[8, 4], &[1, 4]), [0]);
        assert!(single_windows(&spec, &[8, 4], &[2, 4]).is_empty(), "a window of two rows");
        assert!(single_windows(&spec, &[1, 4], &[1, 4]).is_empty(), "all rows");
    }

    /// Plans a concatenation of a sharded operand and an operand with this sharding.
    fn concatenated(second: &str) -> Vec<String> {
        let program = format!(
            r#"func.func @main(%a: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}, %b: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {second}>}})
                -> (tensor<128x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
              %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<128x8xf32>
              return %0 : tensor<128x8xf32>
            }}"#
        );
        around("plan", r#""x"=4"#, &program).shardings("sdy.reshard")
    }

    #[test]
    fn a_replicated_operand_of_a_concatenation_stays_replicated() {
        assert!(concatenated("[{}, {}]").is_empty());
        assert!(!concatenated(r#"[{}, {"x"}]"#).is_empty());
    }
}
