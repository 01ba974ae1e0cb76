//! Bounds of dynamic sizes: `tensor<?x4xf32, #stablehlo.bounds<8, ?>>` has at most 8 rows.

use super::{Res, ensure};
use crate::{DYNAMIC, Encoding, Shape, TensorType};

/// Returns the largest size of dimension `d`: its static size, or the bound of its dynamic size; `None` if it has no
/// bound.
fn limit(tensor: &TensorType, d: usize) -> Option<i64> {
    let size = *tensor.shape.get(d)?;
    let limit = if size == DYNAMIC { *tensor.bounds()?.get(d)? } else { size };
    (limit != DYNAMIC).then_some(limit)
}

/// Whether no static size of one type exceeds the bound of the same dimension in the other type.
pub(crate) fn bounds_fit(a: &TensorType, b: &TensorType) -> bool {
    if a.encoding.is_none() && b.encoding.is_none() {
        return true;
    }
    let within = |sizes: &TensorType, other: &TensorType| match other.bounds() {
        Some(list) => sizes.shape.iter().zip(list).all(|(&n, &b)| n == DYNAMIC || b == DYNAMIC || n <= b),
        None => true,
    };
    within(a, b) && within(b, a)
}

/// Whether all dimensions are static, except for at most one bounded dimension.
pub(crate) fn one_bounded_at_most(tensor: &TensorType) -> bool {
    let mut unknown = (0..tensor.rank()).filter(|&d| tensor.shape.get(d) == Some(&DYNAMIC));
    match (unknown.next(), unknown.next()) {
        (None, _) => true,
        (Some(d), None) => limit(tensor, d).is_some(),
        (Some(_), Some(_)) => false,
    }
}

/// Returns the bound of dimension `d`, if it is dynamic and has one.
pub(crate) fn bound(tensor: &TensorType, d: usize) -> Option<i64> {
    if tensor.encoding.is_none() || tensor.shape.get(d) != Some(&DYNAMIC) {
        return None;
    }
    limit(tensor, d)
}

/// Returns the encoding of the common type of two operands with the same shape: for each dimension the smaller bound.
pub(crate) fn joined(op: &str, a: &TensorType, b: &TensorType, shape: &[i64]) -> Res<Option<Encoding>> {
    // Equal encodings are not enough: a dynamic size with the bound 8, joined with the static size 5, is the static size 5 without a bound.
    if a.encoding == b.encoding && !shape.iter().zip(&a.shape).any(|(n, m)| n != m) {
        return Ok(a.encoding.clone());
    }
    let (left, right) = (a.bounds(), b.bounds());
    if left.is_none() && right.is_none() {
        return Ok(a.encoding.clone());
    }
    let mut smaller = Shape::new();
    for (d, &size) in shape.iter().enumerate() {
        let of = |list: Option<&[i64]>| list.and_then(|l| l.get(d).copied()).filter(|&b| b != DYNAMIC);
        let bound = match (of(left), of(right)) {
            (Some(l), Some(r)) => Some(l.min(r)),
            (l, r) => l.or(r),
        };
        if let Some(bound) = bound.filter(|_| size != DYNAMIC) {
            ensure!(
                size <= bound,
                "operands of {op} have incompatible shapes: dimension {d} has size {size} in one and at most {bound} in the other ({a} and {b})"
            );
        }
        smaller.push(bound.filter(|_| size == DYNAMIC).unwrap_or(DYNAMIC));
    }
    Ok(encoding(&smaller))
}

/// Returns the encoding of these bounds; `None` if no dimension has a bound.
pub(crate) fn encoding(bounds: &[i64]) -> Option<Encoding> {
    let any = bounds.iter().any(|&b| b != DYNAMIC);
    any.then(|| Encoding::Bounds(Shape::from_slice(bounds)))
}
