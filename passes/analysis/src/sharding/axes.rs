//! Arithmetic of axes and sub-axes for planning, in a canonical form that can be compared and hashed.
//!
//! A [`Part`] is an axis or a sub-axis of it: if the full axis is viewed as `(pre, size, rest)` from major to minor, the part is the middle
//! component.

use shardc_ir::{AxisList, AxisRef, Mesh, SubAxis};
use smallvec::SmallVec;

/// An axis or a part of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// Index of the axis in its mesh.
    pub axis: u16,
    /// Product of the sizes of the more major parts.
    pub pre: u32,
    /// Size of this part.
    pub size: u32,
}

/// Parts from major to minor.
pub type Parts = SmallVec<[Part; 4]>;

impl Part {
    /// Converts an axis or a sub-axis of `mesh`.
    pub fn of(mesh: &Mesh, axis: AxisRef) -> Part {
        match axis.sub {
            Some(sub) => Part { axis: axis.axis, pre: sub.pre, size: sub.size },
            None => Part { axis: axis.axis, pre: 1, size: mesh.full_size(axis) as u32 },
        }
    }

    fn end(self) -> u32 {
        self.pre * self.size
    }

    /// Whether the two parts cannot shard the same tensor: they have a common component of an axis, or no factorization of the axis
    /// contains both. For example, between the major and the minor part of size 2 of an axis of size 6, there would be a part of size 1.5.
    pub fn overlaps(self, other: Part) -> bool {
        let (major, minor) = if self.pre <= other.pre { (self, other) } else { (other, self) };
        // If two parts do not overlap and one factorization contains both, the component between them has an integer size.
        self.axis == other.axis && (minor.pre < major.end() || minor.pre % major.end() != 0)
    }

    /// Splits the part into its major component of size `size` and the remaining minor component.
    pub fn split(self, size: u32) -> (Part, Part) {
        (Part { size, ..self }, Part { pre: self.pre * size, size: self.size / size, ..self })
    }
}

/// Returns the parts of a list of axes; axes of size one are dropped.
pub fn parts(mesh: &Mesh, axes: &[AxisRef]) -> Parts {
    axes.iter().map(|&a| Part::of(mesh, a)).filter(|p| p.size > 1).collect()
}

/// Returns the shortest list of axes and sub-axes that is equivalent to `parts`: adjacent parts of an axis are merged.
pub fn to_axes(mesh: &Mesh, parts: &[Part]) -> AxisList {
    let mut merged: Parts = Parts::new();
    for &part in parts {
        match merged.last_mut() {
            Some(last) if last.axis == part.axis && last.end() == part.pre => last.size *= part.size,
            _ => merged.push(part),
        }
    }
    merged
        .iter()
        .map(|p| {
            let whole = AxisRef::whole(usize::from(p.axis));
            let is_whole = i64::from(p.size) == mesh.full_size(whole);
            AxisRef { sub: (!is_whole).then_some(SubAxis { pre: p.pre, size: p.size }), ..whole }
        })
        .collect()
}

/// Returns the number of blocks that parts produce: the product of their sizes.
pub fn size_of(parts: &[Part]) -> i64 {
    parts.iter().map(|p| i64::from(p.size)).product()
}

/// Splits the parts in all `lists` so that any two resulting parts are equal or disjoint. `None` if that is impossible, because the
/// boundaries of the parts of an axis do not divide each other (`(1)2` and `(1)3` of an axis of size 6).
pub fn refine(mesh: &Mesh, lists: &mut [Parts]) -> Option<()> {
    let mut cuts: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); mesh.axes.len()];
    for part in lists.iter().flatten() {
        // An axis is cut at both ends of every part, so no resulting part extends across an end of another part.
        for cut in [part.pre, part.end()] {
            let cuts = &mut cuts[usize::from(part.axis)];
            if !cuts.contains(&cut) {
                cuts.push(cut);
            }
        }
    }
    for cuts in &mut cuts {
        cuts.sort_unstable();
        // After sorting, each cut must divide the next one, so that every part between two cuts has an integer size.
        if cuts.windows(2).any(|w| w[1] % w[0] != 0) {
            return None;
        }
    }
    for list in lists {
        let mut out = Parts::new();
        for &part in list.iter() {
            let mut rest = part;
            for &cut in &cuts[usize::from(part.axis)] {
                if cut > rest.pre && cut < rest.end() {
                    // The division is exact: `rest.pre` is a cut, and each cut divides all later ones.
                    let (major, minor) = rest.split(cut / rest.pre);
                    out.push(major);
                    rest = minor;
                }
            }
            out.push(rest);
        }
        *list = out;
    }
    Some(())
}

/// Returns the smallest part of `axis` that contains all of `parts` on `axis`, even if no factorization of the axis contains all of them:
/// `(1)6` for `(1)2` and `(1)3`.
pub fn hull(parts: &[Part], axis: u16) -> Part {
    let own = || parts.iter().filter(|part| part.axis == axis);
    let pre = own().map(|part| part.pre).reduce(gcd).unwrap_or(1);
    let end = own().map(|part| part.end()).reduce(|a, b| a / gcd(a, b) * b).unwrap_or(pre);
    Part { axis, pre, size: end / pre }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refine_cuts_at_the_boundaries_of_others() {
        let mesh = Mesh::new([("x", 8)]);
        let whole = parts(&mesh, &[AxisRef::whole(0)]);
        let part = Parts::from_slice(&[Part { axis: 0, pre: 2, size: 2 }]);
        let mut lists = [whole, part];
        assert_eq!(refine(&mesh, &mut lists), Some(()));
        let sizes: Vec<_> = lists[0].iter().map(|p| (p.pre, p.size)).collect();
        assert_eq!(sizes, [(1, 2), (2, 2), (4, 2)]);
        assert_eq!(to_axes(&mesh, &lists[0]), AxisList::from_slice(&[AxisRef::whole(0)]));
    }

    #[test]
    fn a_hull_contains_incompatible_parts() {
        let part = |pre, size| Part { axis: 0, pre, size };
        assert_eq!(hull(&[part(1, 2), part(1, 3)], 0), part(1, 6));
        assert_eq!(hull(&[part(2, 3), part(3, 2), Part { axis: 1, pre: 1, size: 5 }], 0), part(1, 6));
        assert_eq!(hull(&[part(2, 2), part(4, 3)], 0), part(2, 6));
    }

    #[test]
    fn incompatible_parts_overlap() {
        let part = |pre, size| Part { axis: 0, pre, size };
        // On an axis of 6: the major part of size 2, and the minor part of size 2.
        assert!(part(1, 2).overlaps(part(3, 2)) && part(3, 2).overlaps(part(1, 2)));
        assert!(part(1, 2).overlaps(part(1, 3)) && part(1, 6).overlaps(part(2, 3)));
        assert!(!part(1, 2).overlaps(part(2, 3)) && !part(1, 3).overlaps(part(3, 2)));
        // On an axis of 12: the major part of size 2, and the minor part of size 2, with a component of size 3 between them.
        assert!(!part(1, 2).overlaps(part(6, 2)) && !part(6, 2).overlaps(part(1, 2)));
    }

    #[test]
    fn refine_rejects_incompatible_cuts() {
        let mesh = Mesh::new([("x", 6)]);
        let two = Parts::from_slice(&[Part { axis: 0, pre: 1, size: 2 }]);
        let three = Parts::from_slice(&[Part { axis: 0, pre: 1, size: 3 }]);
        assert_eq!(refine(&mesh, &mut [two, three]), None);
    }
}
