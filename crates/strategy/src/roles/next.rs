//! Finds the result that is the next value of each argument.
//!
//! Donations specify the result. Otherwise it is inferred: a next value is computed element-wise from the old value and from other values
//! of the same shape. Sums are tried first (a parameter and its update), then sums of multiples (momentum and masked gradients), then any
//! element-wise arithmetic. In each round, a result with a single candidate argument is assigned to that argument, which leaves fewer
//! candidates for other results.

use rustc_hash::FxHashSet;
use shardc_analysis::rules::is_identity_call;
use shardc_ir::{AttrDict, BinaryOp, Dense, FuncId, Module, OpKind, ValueId};

use super::dependence::is_number;
use crate::flow::yielded;

/// The element-wise arithmetic by which a value is computed from others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Sums of the values themselves.
    Sums,
    /// Sums of multiples, each with one factor for all elements.
    Multiples,
    Anything,
}

/// Finds the result that is the next value of each argument, if any.
pub(super) fn next_values(
    module: &Module,
    func: FuncId,
    args: &[ValueId],
    returned: &[ValueId],
) -> Vec<Option<usize>> {
    let attrs = &module.funcs[func].arg_attrs;
    let mut next: Vec<Option<usize>> = (0..args.len())
        .map(|i| attrs.get(i).and_then(AttrDict::donated_to).filter(|&result| result < returned.len()))
        .collect();
    // If some donations specify their results, other arguments are state only if they may be donated to any result.
    let is_open = |i: usize| next[i].is_none() && attrs.get(i).is_some_and(|a| a.donation().is_some());
    let has_named = next.iter().any(Option::is_some);
    let open: Vec<usize> =
        (0..args.len()).filter(|&i| next[i].is_none() && (!has_named || is_open(i))).collect();
    let ty = |v: ValueId| module.values[v].ty;
    let is_number = |r: usize| is_number(module, returned[r]);
    // Results that are unchanged arguments are not inferred as next values: PyTorch/XLA returns all live tensors, including the batch.
    let mut free: Vec<usize> =
        (0..returned.len()).filter(|&r| !args.contains(&returned[r]) && !next.contains(&Some(r))).collect();
    let mut left: FxHashSet<usize> = open.into_iter().collect();
    for by in [By::Sums, By::Multiples, By::Anything] {
        if by != By::Sums {
            // A float scalar is a loss or a metric, unless the next value of a scalar parameter is computed from it.
            let states: Vec<usize> = next.iter().flatten().copied().filter(|&r| is_number(r)).collect();
            let made_from: Vec<FxHashSet<ValueId>> =
                states.iter().map(|&r| reached(module, returned[r], By::Anything)).collect();
            free.retain(|&r| !is_number(r) || made_from.iter().any(|from| from.contains(&returned[r])));
        }
        let reached: Vec<Vec<usize>> = free
            .iter()
            .map(|&r| {
                let from = reached(module, returned[r], by);
                (0..args.len())
                    .filter(|&i| ty(args[i]) == ty(returned[r]) && from.contains(&args[i]))
                    .collect()
            })
            .collect();
        let mut is_taken = vec![false; free.len()];
        // Each iteration assigns at least one result.
        loop {
            // Results that had the fewest candidates originally come first: a loss depends on several loss weights.
            let last_candidate = |r: usize| {
                let mut candidates = reached[r].iter().filter(|i| left.contains(i));
                let first = *candidates.next()?;
                candidates.next().is_none().then_some((r, first))
            };
            let untaken = (0..free.len()).filter(|&r| !is_taken[r]);
            let only = untaken.filter_map(last_candidate).min_by_key(|&(r, _)| (reached[r].len(), r));
            let Some((r, i)) = only else { break };
            next[i] = Some(free[r]);
            left.remove(&i);
            is_taken[r] = true;
        }
        let mut taken = is_taken.into_iter();
        free.retain(|_| !taken.next().unwrap_or(false));
    }
    // A low-precision parameter is cast from its f32 copy.
    for r in free {
        let is_made_of_state = !reached(module, returned[r], By::Anything).is_disjoint(&states(args, &next));
        let same = |&i: &usize| left.contains(&i) && ty(args[i]) == ty(returned[r]);
        if let Some(i) = (0..args.len()).find(same).filter(|_| is_made_of_state) {
            next[i] = Some(r);
            left.remove(&i);
        }
    }
    next
}

/// Finds the arguments that have a next value.
fn states(args: &[ValueId], next: &[Option<usize>]) -> FxHashSet<ValueId> {
    args.iter().zip(next).filter(|(_, next)| next.is_some()).map(|(&arg, _)| arg).collect()
}

/// If a function returns gradients and no next state, finds the result that is the gradient of each floating-point argument. Results
/// are matched to arguments of their type, in order.
pub(super) fn gradients(module: &Module, args: &[ValueId], returned: &[ValueId]) -> Vec<Option<usize>> {
    let ty = |v: ValueId| module.values[v].ty;
    let is_float =
        |v: ValueId| module.tensor(v).is_some_and(|ty| !ty.shape.is_empty() && ty.dtype.is_float());
    let mut out = vec![None; args.len()];
    let mut first = 0;
    for (result, &value) in returned.iter().enumerate().filter(|(_, v)| is_float(**v) && !args.contains(v)) {
        if let Some(i) = (first..args.len()).find(|&i| ty(args[i]) == ty(value)) {
            out[i] = Some(result);
            first = i + 1;
        }
    }
    out
}

/// Returns the values from which a value is computed element-wise by this arithmetic.
fn reached(module: &Module, value: ValueId, by: By) -> FxHashSet<ValueId> {
    let shape = module.shape(value);
    let (mut seen, mut todo) = (FxHashSet::from_iter([value]), vec![value]);
    while let Some(value) = todo.pop() {
        let Some(op) = module.def_op(value) else { continue };
        let data = &module.ops[op];
        let result = data.results.iter().position(|&result| result == value);
        match data.kind {
            // The result of a loop is treated as an update of its initial value. The search ends there: the loop of a backward pass
            // starts with results of the forward pass.
            OpKind::While => {
                seen.extend(result.and_then(|i| data.operands.get(i)));
                continue;
            }
            OpKind::Case | OpKind::If => {
                let regions = data.regions.iter();
                let chosen = regions.filter_map(|&region| yielded(module, region).get(result?).copied());
                todo.extend(chosen.filter(|&v| seen.insert(v)));
                continue;
            }
            _ => {}
        }
        let goes_on = match &data.kind {
            OpKind::Binary(BinaryOp::Add | BinaryOp::Subtract) | OpKind::Select | OpKind::Convert => true,
            OpKind::ShardingConstraint(_) | OpKind::OptimizationBarrier => true,
            OpKind::CustomCall(call) => *call.target == *"Sharding" || is_identity_call(&call.target),
            OpKind::Binary(BinaryOp::Multiply | BinaryOp::Divide) if by == By::Multiples => {
                data.operands.iter().any(|&v| is_one_number(module, v))
            }
            OpKind::Binary(_) | OpKind::Unary(_) | OpKind::Clamp => by == By::Anything,
            _ => false,
        };
        if !goes_on {
            continue;
        }
        // A barrier forwards each operand separately.
        let only = result.filter(|_| matches!(data.kind, OpKind::OptimizationBarrier));
        let operands = data.operands.iter().enumerate().filter(|(i, _)| only.is_none_or(|only| *i == only));
        todo.extend(operands.map(|(_, &v)| v).filter(|&v| module.shape(v) == shape && seen.insert(v)));
    }
    seen
}

/// Returns whether all elements of a value are equal.
fn is_one_number(module: &Module, value: ValueId) -> bool {
    let Some(op) = module.def_op(value) else { return module.rank(value) == 0 };
    let data = &module.ops[op];
    match &data.kind {
        OpKind::Constant(dense) => matches!(dense, Dense::Splat(_)),
        OpKind::BroadcastInDim { .. } | OpKind::Convert => {
            data.operands.first().is_some_and(|&of| is_one_number(module, of))
        }
        _ => module.rank(value) == 0,
    }
}
