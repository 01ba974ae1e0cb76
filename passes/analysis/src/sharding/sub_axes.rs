//! Arithmetic of axes and sub-axes for propagation, as Shardy defines it on `AxisRefAttr`.
//!
//! A sub-axis `(pre)size` of an axis of size `n` is the middle component of the axis viewed as `(pre, size, n / (pre * size))`, major to
//! minor. Two sub-axes of the same axis are compatible only if their boundaries divide each other.

use shardc_ir::{AxisRef, Mesh, SubAxis};
use smallvec::SmallVec;

/// Axes from major to minor.
pub type Axes = SmallVec<[AxisRef; 2]>;

/// Returns the product of the sizes of the more major parts of the axis; 1 for a full axis.
pub fn pre(axis: AxisRef) -> u32 {
    axis.sub.map_or(1, |sub| sub.pre)
}

/// Returns the part `(pre)size` of an axis. If `axis` is a sub-axis, the result is a part of its full axis.
pub fn part(axis: AxisRef, pre: u32, size: u32) -> AxisRef {
    AxisRef { axis: axis.axis, sub: Some(SubAxis { pre, size }) }
}

/// Returns the end of a sub-axis: the `pre` of the next sub-axis.
fn end(sub: SubAxis) -> u32 {
    sub.pre.saturating_mul(sub.size)
}

/// Whether two axes or sub-axes have a common part.
pub fn overlaps(a: AxisRef, b: AxisRef) -> bool {
    a.axis == b.axis
        && match (a.sub, b.sub) {
            (Some(a), Some(b)) => a.pre < end(b) && b.pre < end(a),
            _ => true,
        }
}

/// Whether `a` includes all of `b`.
pub(crate) fn contains(a: AxisRef, b: AxisRef) -> bool {
    a.axis == b.axis
        && match (a.sub, b.sub) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(a), Some(b)) => a.pre <= b.pre && end(a) >= end(b),
        }
}

/// Whether `a` is equal to `b`, or a part of `b` that begins where `b` begins.
pub(crate) fn is_prefix(a: AxisRef, b: AxisRef) -> bool {
    contains(b, a) && pre(a) == pre(b)
}

/// Whether two sub-axes may appear in the same program: each boundary of one divides, or is a multiple of, each boundary of the other, so
/// that the axis can be split at all boundaries.
fn fit(a: AxisRef, b: AxisRef) -> bool {
    let (true, Some(x), Some(y)) = (a.axis == b.axis, a.sub, b.sub) else { return true };
    // On an axis of 6, `(1)2` and `(1)3` are incompatible, and so are `(1)2` and `(3)2`, which do not overlap: no list of parts has
    // boundaries at both 2 and 3. `(1)4` and `(2)6` of an axis of 12 are compatible: the axis is split at 2 and 4.
    let (low, high) = (x.pre.min(y.pre), x.pre.max(y.pre));
    let (low_end, high_end) = (end(x).min(end(y)), end(x).max(end(y)));
    if low_end > high {
        low_end % high == 0 && high % low == 0 && high_end % low_end == 0
    } else {
        high % low_end == 0
    }
}

/// Returns the part of `a` that is major to its overlap with `b`; all of `a` if they do not overlap. `None` if that part is empty, or if
/// the two are incompatible.
pub(crate) fn prefix_without(a: AxisRef, b: AxisRef) -> Option<AxisRef> {
    if !fit(a, b) {
        return None;
    }
    if !overlaps(a, b) {
        return Some(a);
    }
    // The two overlap. If `a` begins before `b`, the result ends where `b` begins; `fit` makes the division exact. A part of `a` minor to
    // `b` is dropped.
    (pre(a) < pre(b)).then(|| part(a, pre(a), pre(b) / pre(a)))
}

/// Returns the part of `axis` that is major to all its overlaps with `others`; `None` if that part is empty.
pub fn prefix_without_all(axis: AxisRef, others: &[AxisRef]) -> Option<AxisRef> {
    others.iter().try_fold(axis, |axis, &other| prefix_without(axis, other))
}

/// Returns the parts of `axis` that overlap none of `others`, major to minor.
pub fn minus(mesh: &Mesh, axis: AxisRef, others: &[AxisRef]) -> Axes {
    let mut left: Axes = SmallVec::from_slice(&[axis]);
    for &other in others {
        let mut next = Axes::new();
        for axis in left {
            if !overlaps(axis, other) {
                next.push(axis);
                continue;
            }
            if pre(axis) < pre(other) {
                next.push(part(axis, pre(axis), pre(other) / pre(axis)));
            }
            // At most two parts of `axis` remain: the one that is major to `other`, and the one that is minor to it. The divisions are
            // exact if the parts are compatible ([`fit`]), as in any verified sharding.
            let full = mesh.full_size(axis) as u32;
            let (stop, from) = (axis.sub.map_or(full, end), other.sub.map_or(full, end));
            if from < stop {
                next.push(part(axis, from, stop / from));
            }
        }
        left = next;
    }
    left
}

/// Appends an axis, and merges it with the last axis if they are adjacent. All parts of an axis together merge to the full axis.
pub fn push_merged(mesh: &Mesh, axes: &mut Axes, axis: AxisRef) {
    if let Some(last) = axes.last_mut()
        && let (Some(a), Some(b)) = (last.sub, axis.sub)
        && last.axis == axis.axis
        && end(a) == b.pre
    {
        // The product is at most the size of the axis, which fits `u32`.
        let size = a.size * b.size;
        *last = if i64::from(size) == mesh.full_size(axis) {
            AxisRef { axis: axis.axis, sub: None }
        } else {
            part(axis, a.pre, size)
        };
        return;
    }
    axes.push(axis);
}

/// Whether a list of axes is a prefix of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// The lists are equal.
    Equal,
    /// The first list is a prefix of the second, which has more axes or a larger last axis.
    Strict,
    /// The first list is not a prefix of the second.
    No,
}

/// Whether `first` is a prefix of `second`. The last axis of `first` may be a major part of the corresponding axis of `second`.
pub fn prefix_of(first: &[AxisRef], second: &[AxisRef]) -> Prefix {
    let Some((&last, before)) = first.split_last() else {
        return if second.is_empty() { Prefix::Equal } else { Prefix::Strict };
    };
    if first.len() > second.len() || before != &second[..before.len()] {
        return Prefix::No;
    }
    let other = second[before.len()];
    if first.len() == second.len() && last == other {
        Prefix::Equal
    } else if is_prefix(last, other) {
        Prefix::Strict
    } else {
        Prefix::No
    }
}

/// Returns the greatest common divisor; `gcd(n, 0)` is `n`.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(pre: u32, size: u32) -> AxisRef {
        AxisRef { axis: 0, sub: Some(SubAxis { pre, size }) }
    }

    const X: AxisRef = AxisRef { axis: 0, sub: None };
    const Y: AxisRef = AxisRef { axis: 1, sub: None };

    #[test]
    fn overlap_and_prefix() {
        assert!(overlaps(X, sub(2, 2)) && !overlaps(sub(1, 2), sub(2, 2)) && !overlaps(X, Y));
        assert_eq!(prefix_without(X, sub(2, 4)), Some(sub(1, 2)));
        assert_eq!(prefix_without(X, sub(1, 2)), None);
        assert_eq!(prefix_without(sub(1, 2), sub(2, 2)), Some(sub(1, 2)));
        // Boundaries 2 and 3 do not divide each other.
        assert_eq!(prefix_without(sub(1, 2), sub(1, 3)), None);
    }

    #[test]
    fn lists() {
        assert_eq!(prefix_of(&[], &[X]), Prefix::Strict);
        assert_eq!(prefix_of(&[X], &[X]), Prefix::Equal);
        assert_eq!(prefix_of(&[sub(1, 2)], &[X, Y]), Prefix::Strict);
        assert_eq!(prefix_of(&[sub(1, 2), Y], &[X, Y]), Prefix::No);
        assert_eq!(prefix_of(&[Y], &[X, Y]), Prefix::No);
    }

    #[test]
    fn merging_and_subtracting() {
        let mesh = Mesh::new([("x", 8), ("y", 2)]);
        let mut axes = Axes::new();
        for axis in [sub(1, 2), sub(2, 2), sub(4, 2), Y] {
            push_merged(&mesh, &mut axes, axis);
        }
        assert_eq!(axes.as_slice(), [X, Y]);
        assert_eq!(minus(&mesh, X, &[sub(2, 2)]).as_slice(), [sub(1, 2), sub(4, 2)]);
        assert_eq!(minus(&mesh, X, &[X]).as_slice(), []);
    }
}
