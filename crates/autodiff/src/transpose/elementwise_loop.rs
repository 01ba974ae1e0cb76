//! Element-wise loops with an unknown trip count: the Jacobian is diagonal, and a forward loop computes it.
//!
//! Series and continued fractions (`igamma`, `igammac`, `betainc`) run until every element has converged, so the trip count is unknown,
//! and reverse mode cannot save the residuals of each iteration. If each element of a result depends only on the same element of the
//! initial values, the derivatives are tensors of the same shape, and a second loop carries them:
//!
//! ```mlir
//! // before
//! %y = stablehlo.while(%v = %x) cond { ... } do { return f(%v) }
//! // cotangent of %x
//! %again:2 = stablehlo.while(%v = %x, %slope = 1.0) cond { ... } do { return f(%v), f'(%v) * %slope }
//! %ct_x = stablehlo.multiply %ct_y, %again#1
//! ```
//!
//! Conditions:
//!
//! * the loop has no known trip count,
//! * each operation on the tape of its body is elementwise (sums, differences, products with and quotients by values that are not
//!   tangents, selections, conversions), and all tangents are floats of the same shape.
//!
//! A loop with a bounded trip count continues until the derivatives have also converged (`convergence.rs`).
//!
//! The loop is executed twice; the second loop carries one derivative for each pair of an initial value and a carried value that depends
//! on it.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::rewrite::clone_op;
use shardc_ir::{BinaryOp, Build, Module, OpId, OpKind, UnaryOp, ValueId, ValueMap};

use super::{Transposed, convergence};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::LoopTape;

/// Passes the cotangents of an element-wise loop's results to its initial values. Returns false if the loop is not element-wise.
pub(super) fn transpose(
    t: &mut Transposed<'_, '_>,
    whole: OpId,
    looped: &LoopTape,
    asked: &[Option<ValueId>],
) -> bool {
    if !is_elementwise(t, looped) {
        return false;
    }
    let pairs = pairs(t, looped, asked);
    let slopes = slopes(t, whole, looped, &pairs);
    for (&(init, result), &slope) in pairs.iter().zip(&slopes) {
        if let (Some(tangent), Some(cotangent)) = (looped.inits[init], asked[result]) {
            let share = t.emit(whole).mul(cotangent, slope);
            t.ask(tangent, share);
        }
    }
    true
}

/// Whether each operation on the tape of the body is element-wise.
fn is_elementwise(t: &Transposed<'_, '_>, looped: &LoopTape) -> bool {
    let module = &*t.linear.module;
    let Some(&first) = looped.args.first() else { return false };
    let shape = module.shape(first);
    let is_like = |value: &ValueId| {
        module.tensor(*value).is_some_and(|ty| ty.dtype.is_float() && ty.shape.as_slice() == shape)
    };
    let is_tangent = |value: &ValueId| t.linear.is_tangent(*value);
    looped.args.iter().all(is_like)
        && looped.tape.ops.iter().all(|op| {
            let data = &module.ops[*op];
            let is_known = match data.kind {
                OpKind::Unary(UnaryOp::Negate)
                | OpKind::Convert
                | OpKind::ReducePrecision { .. }
                | OpKind::Select
                | OpKind::Binary(BinaryOp::Add | BinaryOp::Subtract) => true,
                OpKind::Binary(BinaryOp::Multiply | BinaryOp::Divide) => {
                    data.operands.iter().filter(|v| is_tangent(v)).count() == 1
                }
                _ => false,
            };
            is_known
                && !t.linear.nested.contains_key(op)
                && data.operands.iter().filter(|v| is_tangent(v)).all(is_like)
                && data.results.iter().all(is_like)
        })
}

/// Pairs of indices in [`LoopTape::carried`]: an initial value with a tangent, and a carried value. The carried value depends on the
/// initial value, and a result with a cotangent depends on the carried value.
fn pairs(t: &Transposed<'_, '_>, looped: &LoopTape, asked: &[Option<ValueId>]) -> Vec<(usize, usize)> {
    let count = looped.args.len();
    // For each carried value, the indices of the carried values that depend on it after one iteration.
    let after_one: Vec<Vec<usize>> = (0..count)
        .map(|i| {
            let mut reached: FxHashSet<ValueId> = [looped.args[i]].into_iter().collect();
            for &op in &looped.tape.ops {
                let data = &t.linear.module.ops[op];
                if data.operands.iter().any(|v| reached.contains(v)) {
                    reached.extend(data.results.iter().copied());
                }
            }
            let is_reached =
                |k: &usize| looped.tape.returned[looped.carried[*k]].is_some_and(|v| reached.contains(&v));
            (0..count).filter(is_reached).collect()
        })
        .collect();
    let closure = |from: usize| {
        let mut reached = vec![false; count];
        reached[from] = true;
        let mut todo = vec![from];
        while let Some(i) = todo.pop() {
            for &next in &after_one[i] {
                if !std::mem::replace(&mut reached[next], true) {
                    todo.push(next);
                }
            }
        }
        reached
    };
    let closures: Vec<Vec<bool>> = (0..count).map(closure).collect();
    let is_needed = |k: usize| (0..count).any(|result| asked[result].is_some() && closures[k][result]);
    let mut out = Vec::new();
    for init in (0..count).filter(|&i| looped.inits[i].is_some()) {
        out.extend((0..count).filter(|&k| closures[init][k] && is_needed(k)).map(|k| (init, k)));
    }
    out
}

/// Inserts a copy of the loop that also carries the derivative of each pair. Returns the derivatives.
fn slopes(
    t: &mut Transposed<'_, '_>,
    whole: OpId,
    looped: &LoopTape,
    pairs: &[(usize, usize)],
) -> Vec<ValueId> {
    let mut map = ValueMap::new();
    let again = clone_op(t.linear.module, looped.op, &mut map);
    let regions = t.linear.module.ops[again].regions.clone();
    let (cond, body) = (regions[0], regions[1]);
    let mut firsts = Vec::new();
    for &(init, k) in pairs {
        let like = looped.args[k];
        firsts.push(t.emit(whole).number(if init == k { 1.0 } else { 0.0 }, like));
    }
    let module = &mut *t.linear.module;
    let mut ops = module.regions[body].ops.to_vec();
    let Some(end) = ops.pop() else { return Vec::new() };
    let types: Vec<_> = pairs.iter().map(|&(_, k)| module.values[looped.args[k]].ty).collect();
    let args: Vec<ValueId> = types.iter().map(|&ty| module.add_arg(body, ty)).collect();
    let mut results = Vec::new();
    for (&ty, &first) in types.iter().zip(&firsts) {
        module.add_arg(cond, ty);
        module.ops[again].operands.push(first);
        results.push(module.add_result(again, ty));
    }
    let tests = convergence::tests(t, looped);
    let mut slopes_of_terms: Vec<Vec<ValueId>> = vec![Vec::new(); tests.len()];
    let module = &mut *t.linear.module;
    let mut inits: Vec<usize> = pairs.iter().map(|&(init, _)| init).collect();
    inits.dedup();
    for init in inits {
        let of_init = || pairs.iter().enumerate().filter(move |(_, pair)| pair.0 == init);
        let given = of_init().map(|(n, &(_, k))| (looped.args[k], args[n])).collect();
        let tangents = Trip { looped, map: &map, end }.copy(module, given, &mut ops);
        for (test, slopes) in tests.iter().zip(&mut slopes_of_terms) {
            slopes.extend(tangents.get(&test.tangent));
        }
        for (_, &(_, k)) in of_init() {
            let returned = looped.tape.returned[looped.carried[k]];
            let next = match returned.and_then(|value| tangents.get(&value).copied()) {
                Some(tangent) => tangent,
                None => Emit::new(module, &mut ops, end).zeros_like(looped.args[k]),
            };
            module.ops[end].operands.push(next);
        }
    }
    for (test, slopes) in tests.iter().zip(&slopes_of_terms) {
        convergence::extend(module, &mut ops, test, map.get(test.goes_on), slopes, end);
    }
    ops.push(end);
    module.set_ops(body, ops);
    t.ops.push(again);
    results
}

/// One iteration of the loop that carries derivatives.
struct Trip<'a> {
    looped: &'a LoopTape,
    /// Maps values of the body to their copies.
    map: &'a ValueMap,
    end: OpId,
}

impl Trip<'_> {
    /// Copies the tape into a body. `tangents` maps the nonzero tangents at the start of an iteration to their copies. Returns the map
    /// extended to all nonzero tangents of the tape.
    fn copy(
        &self,
        module: &mut Module,
        mut tangents: FxHashMap<ValueId, ValueId>,
        ops: &mut Vec<OpId>,
    ) -> FxHashMap<ValueId, ValueId> {
        let mut all: FxHashSet<ValueId> = self.looped.args.iter().copied().collect();
        for &op in &self.looped.tape.ops {
            let data = module.ops[op].clone();
            all.extend(data.results.iter().copied());
            if !data.operands.iter().any(|v| tangents.contains_key(v)) {
                continue;
            }
            let mut operands = Vec::new();
            for &value in &data.operands {
                operands.push(match tangents.get(&value) {
                    Some(&tangent) => tangent,
                    None if all.contains(&value) => Emit::new(module, ops, self.end).zeros_like(value),
                    None => self.map.get(value),
                });
            }
            let ty = module.values[data.results[0]].ty;
            let copied = Emit::new(module, ops, op).op1(data.kind, &operands, ty);
            tangents.insert(data.results[0], copied);
        }
        tangents
    }
}
