//! Hints for common type and shape errors.

use crate::{DYNAMIC, DotSpec, Module, Op, OpKind};

/// The hint for an operation that shape inference rejects with this message.
pub(super) fn hint(module: &Module, op: &Op, message: &str) -> Option<String> {
    use OpKind as K;
    if message.starts_with("result") {
        return result_rule(&op.kind).map(str::to_owned);
    }
    match &op.kind {
        K::Binary(_) | K::Compare(..) => mismatch(module, op, 0, 1),
        K::Select => mismatch(module, op, 1, 2),
        K::Clamp => mismatch(module, op, 0, 1).or_else(|| mismatch(module, op, 1, 2)),
        K::AllGather { .. } | K::ReduceScatter { .. } => result_rule(&op.kind).map(str::to_owned),
        K::Reshape if message.ends_with("the element type must not change") => {
            Some("use stablehlo.convert to change the element type".to_owned())
        }
        K::BroadcastInDim { dims } => {
            let (&operand, &result) = (op.operands.first()?, op.results.first()?);
            let fitting = fitting_dims(module.shape(operand), module.shape(result))?;
            // If the dimensions in the program are already the fitting ones, the error is elsewhere (such as in an element type), and this
            // hint would be misleading.
            (fitting != dims[..]).then(|| format!("`dims = {fitting:?}` would fit"))
        }
        K::DotGeneral(spec) if message.starts_with("contracting") => {
            let (&lhs, &rhs) = (op.operands.first()?, op.operands.get(1)?);
            let (left, right) = fitting_contraction(spec, module.shape(lhs), module.shape(rhs))?;
            Some(format!("`contracting_dims = [{left}] x [{right}]` would fit"))
        }
        _ => None,
    }
}

/// How the result's shape is determined, for operations where errors are common.
fn result_rule(kind: &OpKind) -> Option<&'static str> {
    use OpKind as K;
    match kind {
        K::AllGather { .. } | K::ReduceScatter { .. } => {
            Some("the size changes by the number of devices in each replica group")
        }
        K::Transpose { .. } => Some("result dimension i is operand dimension permutation[i]"),
        K::DotGeneral(_) => Some(
            "the result has the batching dimensions, then the free dimensions of the left operand, then those of the right operand",
        ),
        K::Convolution(_) => Some(
            "an output size is (input + padding - window) / stride + 1, rounded down, with input and window dilated",
        ),
        K::Reduce { .. } => Some("the result lacks the reduced dimensions"),
        _ => None,
    }
}

/// Describes the difference between the types of operands `i` and `k`, which must be equal.
fn mismatch(module: &Module, op: &Op, i: usize, k: usize) -> Option<String> {
    let (a, b) = (module.tensor(*op.operands.get(i)?)?, module.tensor(*op.operands.get(k)?)?);
    let advice = if a.dtype != b.dtype {
        "elementwise operations do not convert: use stablehlo.convert"
    } else if a.shape != b.shape {
        "elementwise operations do not broadcast: use stablehlo.broadcast_in_dim"
    } else {
        return None;
    };
    Some(advice.to_owned())
}

/// Returns for each operand dimension a result dimension of the same size, in ascending order; `None` unless exactly one such list exists.
fn fitting_dims(operand: &[i64], result: &[i64]) -> Option<Vec<u32>> {
    let mut dims = Vec::with_capacity(operand.len());
    for &size in operand {
        // Only ascending lists are tried: swapped dimensions are rarely intended, and a hint with several possible lists does not help.
        let from = dims.last().map_or(0, |&d| d as usize + 1);
        let mut fits = result.iter().enumerate().skip(from).filter(|&(_, &n)| n == size && n != DYNAMIC);
        let (d, _) = fits.next()?;
        if fits.next().is_some() {
            return None;
        }
        dims.push(d as u32);
    }
    Some(dims)
}

/// For a `dot_general` with one pair of contracting dimensions: if exactly one pair of dimensions that are not batching dimensions has
/// equal sizes, returns that pair (left, right).
fn fitting_contraction(spec: &DotSpec, lhs: &[i64], rhs: &[i64]) -> Option<(usize, usize)> {
    if spec.lhs_contract.len() != 1 || spec.rhs_contract.len() != 1 {
        return None;
    }
    let free = |batch: &[u32], rank: usize| {
        let batch = batch.to_vec();
        (0..rank).filter(move |&d| !batch.iter().any(|&b| b as usize == d))
    };
    let pairs = free(&spec.lhs_batch, lhs.len())
        .flat_map(|l| free(&spec.rhs_batch, rhs.len()).map(move |r| (l, r)))
        .filter(|&(l, r)| lhs[l] == rhs[r] && lhs[l] != DYNAMIC);
    // The pair in the program is invalid, or there would be no error, so it is skipped even if its sizes are equal.
    let mut pairs = pairs.filter(|&(l, r)| {
        spec.lhs_contract.first() != Some(&(l as u32)) || spec.rhs_contract.first() != Some(&(r as u32))
    });
    let pair = pairs.next()?;
    pairs.next().is_none().then_some(pair)
}
