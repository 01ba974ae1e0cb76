//! Bounds of dynamic sizes: `tensor<?x4xf32, #stablehlo.bounds<8, ?>>` has at most 8 rows.

use std::fmt::Write as _;

use super::{Res, ensure};
use crate::{DYNAMIC, Shape, TensorType};

/// The bound of each dimension, [`DYNAMIC`] where it has none; `None` where no bounds are written.
pub(crate) fn bounds(tensor: &TensorType) -> Option<Shape> {
    let text = tensor.encoding.as_deref()?;
    let list = match text.strip_prefix("#stablehlo.bounds<") {
        Some(rest) => rest.strip_suffix('>')?,
        None => {
            let rest =
                text.strip_prefix("#stablehlo.type_extensions<")?.trim_start().strip_prefix("bounds")?;
            rest.trim_start().strip_prefix('=')?.trim_start().strip_prefix('[')?.strip_suffix("]>")?
        }
    };
    let bound = |text: &str| match text.trim() {
        "?" => Some(DYNAMIC),
        number => number.parse::<i64>().ok(),
    };
    list.split(',').map(bound).collect()
}

/// The largest size that dimension `d` may have: its size, or its bound; `None` where there is no limit.
fn limit(tensor: &TensorType, bounds: Option<&Shape>, d: usize) -> Option<i64> {
    let size = *tensor.shape.get(d)?;
    let limit = if size == DYNAMIC { *bounds?.get(d)? } else { size };
    (limit != DYNAMIC).then_some(limit)
}

/// Whether no size that one type gives is beyond the bound that the other gives.
pub(crate) fn bounds_fit(a: &TensorType, b: &TensorType) -> bool {
    if a.encoding.is_none() && b.encoding.is_none() {
        return true;
    }
    let within = |sizes: &TensorType, other: &TensorType| match bounds(other) {
        Some(list) => sizes.shape.iter().zip(&list).all(|(&n, &b)| n == DYNAMIC || b == DYNAMIC || n <= b),
        None => true,
    };
    within(a, b) && within(b, a)
}

/// Whether all sizes are known, or one is not and that one has a bound.
pub(crate) fn one_bounded_at_most(tensor: &TensorType) -> bool {
    let mut unknown = (0..tensor.rank()).filter(|&d| tensor.shape.get(d) == Some(&DYNAMIC));
    match (unknown.next(), unknown.next()) {
        (None, _) => true,
        (Some(d), None) => limit(tensor, bounds(tensor).as_ref(), d).is_some(),
        (Some(_), Some(_)) => false,
    }
}

/// The bound of dimension `d`, if it is dynamic and has one.
pub(crate) fn bound(tensor: &TensorType, d: usize) -> Option<i64> {
    if tensor.encoding.is_none() || tensor.shape.get(d) != Some(&DYNAMIC) {
        return None;
    }
    limit(tensor, bounds(tensor).as_ref(), d)
}

/// The encoding of the type that two operands of one shape share: the smaller bound of each dimension.
pub(crate) fn joined(op: &str, a: &TensorType, b: &TensorType, shape: &[i64]) -> Res<Option<Box<str>>> {
    if a.encoding == b.encoding && !shape.iter().zip(&a.shape).any(|(n, m)| n != m) {
        return Ok(a.encoding.clone());
    }
    let (left, right) = (bounds(a), bounds(b));
    if left.is_none() && right.is_none() {
        return Ok(a.encoding.clone());
    }
    let mut smaller = Shape::new();
    for (d, &size) in shape.iter().enumerate() {
        let of =
            |list: &Option<Shape>| list.as_ref().and_then(|l| l.get(d).copied()).filter(|&b| b != DYNAMIC);
        let bound = match (of(&left), of(&right)) {
            (Some(l), Some(r)) => Some(l.min(r)),
            (l, r) => l.or(r),
        };
        if let Some(bound) = bound.filter(|_| size != DYNAMIC) {
            ensure!(
                size <= bound,
                "operands of {op} do not fit: dimension {d} has size {size} in one and at most {bound} in the other ({a} and {b})"
            );
        }
        smaller.push(bound.filter(|_| size == DYNAMIC).unwrap_or(DYNAMIC));
    }
    Ok(encoding(&smaller))
}

/// The encoding of these bounds; none where no dimension has one.
pub(crate) fn encoding(bounds: &[i64]) -> Option<Box<str>> {
    if bounds.iter().all(|&b| b == DYNAMIC) {
        return None;
    }
    let mut text = String::from("#stablehlo.bounds<");
    for (d, &bound) in bounds.iter().enumerate() {
        text.push_str(if d == 0 { "" } else { ", " });
        if bound == DYNAMIC {
            text.push('?');
        } else {
            let _ = write!(text, "{bound}");
        }
    }
    text.push('>');
    Some(text.into_boxed_str())
}
