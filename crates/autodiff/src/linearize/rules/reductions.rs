//! Rules of reductions along dimensions.

use shardc_ir::reducer::{is_identity, reduction_of};
use shardc_ir::{CompareDirection, DType, Diagnostic, DimList, OpKind, ReductionKind, TensorBuild, ValueId};
use smallvec::smallvec;

use super::unsupported;
use crate::emit::Arithmetic;
use crate::linearize::expand::{self, Combiner};
use crate::linearize::{At, Rule, Tangents};

/// Linearizes `reduce` with a differentiable combiner.
pub(super) fn reduce(at: &mut At<'_, '_>, dims: &DimList) -> Result<Rule, Box<Diagnostic>> {
    let data = &at.linear.module.ops[at.op];
    let n = data.results.len();
    let kind = data.regions.first().and_then(|&region| reduction_of(at.linear.module, region, n));
    match kind {
        Some(ReductionKind::Add) => {
            let tangents: Result<Tangents, _> = (0..n).map(|i| sum(at, i, n, dims)).collect();
            tangents.map(Rule::Tangents)
        }
        Some(kind @ (ReductionKind::Max | ReductionKind::Min))
            if n == 1 && is_identity(at.linear.module, at.operand(1), kind) =>
        {
            // The maximum is subtracted before exponentials for numerical stability, so the contributions to its derivative cancel.
            if at.linear.cancels(at.result()) {
                return Ok(Rule::nothing(1));
            }
            Ok(Rule::Tangents(smallvec![extreme(at, dims)]))
        }
        Some(ReductionKind::And | ReductionKind::Or | ReductionKind::Xor) => Ok(Rule::nothing(n)),
        // In an argmax (a reduction of values and their indices), often only the index has users, and it has no tangent.
        _ if !at.linear.is_result_read(at.op) => Ok(Rule::nothing(n)),
        _ => by_halves(at, dims, n),
    }
}

/// Expands a reduction whose combiner has no rule of its own: applies the combiner to halves of the tensors repeatedly.
fn by_halves(at: &mut At<'_, '_>, dims: &DimList, n: usize) -> Result<Rule, Box<Diagnostic>> {
    let error = unsupported(at);
    let region = at.linear.module.ops[at.op].regions[0];
    let Some(combiner) = Combiner::of(at.linear.module, region) else { return Err(error) };
    let operands = at.linear.module.ops[at.op].operands.clone();
    let values = expand::reduce(&mut at.primal(), &combiner, &operands[..n], &operands[n..], dims);
    values.map(Rule::Instead).ok_or(error)
}

/// The tangent of result `i` of a `reduce` that computes `n` sums: the sum of the elements of the tangent of input `i`, plus the tangent of
/// its initial value.
fn sum(at: &mut At<'_, '_>, i: usize, n: usize, dims: &DimList) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let inner = match at.tangent(i) {
        Some(tangent) => Some(at.tape().sum(tangent, dims.clone()).ok_or_else(|| unsupported(at))?),
        None => None,
    };
    let init = match at.tangent(n + i) {
        Some(tangent) => {
            let result = at.linear.module.ops[at.op].results[i];
            let shape = at.linear.module.shape(result).to_vec();
            at.tape().spread(tangent, DimList::new(), &shape)
        }
        None => None,
    };
    Ok(super::sum(at, &[inner, init]))
}

/// Returns the tangent of a maximum or minimum; equal elements contribute equal shares.
fn extreme(at: &mut At<'_, '_>, dims: &DimList) -> Option<ValueId> {
    let tangent = at.tangent(0)?;
    let (x, y) = (at.operand(0), at.result());
    let shape = at.linear.module.shape(x).to_vec();
    let kept: DimList = (0..shape.len() as u32).filter(|d| !dims.contains(d)).collect();
    let (mask, count) = {
        let mut e = at.primal();
        let spread = e.spread(y, kept, &shape)?;
        let is_it = e.tensor(OpKind::Compare(CompareDirection::EQ, None), &[x, spread], &shape, DType::I1);
        let dtype = e.dtype(x)?;
        let mask = e.convert(is_it, dtype);
        (mask, e.sum(mask, dims.clone())?)
    };
    let mut tape = at.tape();
    let chosen = tape.mul(tangent, mask);
    let total = tape.sum(chosen, dims.clone())?;
    Some(tape.div(total, count))
}
