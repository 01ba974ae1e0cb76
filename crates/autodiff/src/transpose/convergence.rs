//! Extends the convergence tests of loops that carry derivatives.
//!
//! A series or continued fraction stops when its next term is below the rounding error. Its derivative may converge later: the
//! continued fraction of `igammac(a, x)` stops after `n` terms if `a = n`, but its derivative with respect to `a` does not. So the
//! loop that carries derivatives also tests the derivatives of the term, as JAX's rules for these functions do.
//!
//! Conditions:
//!
//! * the body compares a term with a constant near the rounding error,
//! * the loop condition bounds the trip count, so that the loop terminates if a derivative does not converge,
//! * the derivative does not depend on the comparison.
//!
//! ```mlir
//! %goes_on = stablehlo.compare GT, %term, %eps
//! // becomes, in the loop that carries %slope, the derivative of %term
//! %0 = stablehlo.compare GT, %term, %eps
//! %1 = stablehlo.compare GT, abs(%slope), %tolerance
//! %goes_on = stablehlo.or %0, %1
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{
    BinaryOp, CompareDirection, DType, Module, OpId, OpKind, RegionId, TensorBuild, UnaryOp, ValueId,
};

use super::Transposed;
use crate::emit::{Arithmetic, Emit};
use crate::linearize::{LoopTape, compare, number_of};

/// A constant up to this multiple of the rounding error counts as a convergence bound.
const TINY: f64 = 16.0;

/// A derivative below this multiple of the bound has converged. A derivative accumulates the rounding errors of several terms.
const TOLERANCE: f64 = 16.0;

/// A convergence test in a loop body: an element continues to iterate while its term exceeds the bound.
pub(super) struct Test {
    /// The result of the comparison.
    pub(super) goes_on: ValueId,
    /// The bound with which the term is compared.
    bound: f64,
    /// The tangent of the term.
    pub(super) tangent: ValueId,
}

/// Finds the convergence tests of a loop whose condition bounds the trip count.
pub(super) fn tests(t: &Transposed<'_, '_>, looped: &LoopTape) -> Vec<Test> {
    let module = &*t.linear.module;
    let &[cond, body] = module.ops[looped.op].regions.as_slice() else { return Vec::new() };
    if !has_most_trips(module, cond) {
        return Vec::new();
    }
    let test = |&op: &OpId| {
        let data = &module.ops[op];
        let OpKind::Compare(direction, _) = data.kind else { return None };
        let (term, constant) = match direction {
            CompareDirection::GT | CompareDirection::GE => (data.operands[0], data.operands[1]),
            CompareDirection::LT | CompareDirection::LE => (data.operands[1], data.operands[0]),
            CompareDirection::EQ | CompareDirection::NE => return None,
        };
        let bound = number_of(module, constant)?;
        let error = rounding_error(module, term)?;
        let is_tiny = bound > 0.0 && bound <= TINY * error;
        let tangent = t.linear.tangent(term)?;
        is_tiny.then_some(Test { goes_on: data.results[0], bound, tangent })
    };
    module.regions[body].ops.iter().filter_map(test).collect()
}

/// Whether the loop condition bounds the trip count: it is a conjunction in which one term compares a carried scalar, the trip counter,
/// with a constant.
fn has_most_trips(module: &Module, cond: RegionId) -> bool {
    let ops = &module.regions[cond].ops;
    let is_bound = |op: &OpId| {
        let data = &module.ops[*op];
        matches!(data.kind, OpKind::Compare(CompareDirection::LT | CompareDirection::LE, _))
            && module.rank(data.operands[0]) == 0
            && module.regions[cond].args.contains(&data.operands[0])
            && number_of(module, data.operands[1]).is_some()
    };
    let is_both = |op: &OpId| matches!(module.ops[*op].kind, OpKind::Binary(BinaryOp::And));
    ops.iter().any(is_bound) && ops.iter().any(is_both)
}

/// The distance from 1 to the next larger number of the element type.
fn rounding_error(module: &Module, value: ValueId) -> Option<f64> {
    match module.tensor(value)?.dtype {
        DType::F64 => Some(f64::EPSILON),
        DType::F32 => Some(f64::from(f32::EPSILON)),
        DType::F16 => Some(f64::from(half::f16::EPSILON)),
        DType::BF16 => Some(f64::from(half::bf16::EPSILON)),
        _ => None,
    }
}

/// Extends a convergence test: an element also continues to iterate while one of its derivatives `slopes` exceeds the tolerance. `goes_on`
/// is the copy of the test's result in the body `ops`. The test is left unchanged if a slope depends on its result.
pub(super) fn extend(
    module: &mut Module,
    ops: &mut Vec<OpId>,
    test: &Test,
    goes_on: ValueId,
    slopes: &[ValueId],
    end: OpId,
) {
    let mut depends: FxHashSet<ValueId> = [goes_on].into_iter().collect();
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    for &op in ops.iter() {
        let data = &module.ops[op];
        let inner = data.regions.iter().flat_map(|&region| module.walk(region));
        let reads = |op: OpId| module.ops[op].operands.iter().any(|v| depends.contains(v));
        if reads(op) || inner.into_iter().any(reads) {
            depends.extend(module.ops[op].results.iter().copied());
            behind.push(op);
        } else {
            before.push(op);
        }
    }
    if slopes.is_empty() || slopes.iter().any(|slope| depends.contains(slope)) {
        return;
    }
    let mut any = goes_on;
    let mut emit = Emit::new(module, &mut before, end);
    for &slope in slopes {
        let size = emit.unary(UnaryOp::Abs, slope);
        let bound = emit.number(TOLERANCE * test.bound, slope);
        let is_large = compare(&mut emit, CompareDirection::GT, size, bound);
        any = emit.binary(BinaryOp::Or, any, is_large);
    }
    for &op in &behind {
        for region in std::iter::once(None).chain(module.ops[op].regions.clone().into_iter().map(Some)) {
            let readers = region.map_or_else(|| vec![op], |region| module.walk(region));
            for reader in readers {
                module.ops[reader].operands.iter_mut().filter(|v| **v == goes_on).for_each(|v| *v = any);
            }
        }
    }
    for operand in &mut module.ops[end].operands {
        if *operand == goes_on {
            *operand = any;
        }
    }
    before.extend(behind);
    *ops = before;
}
