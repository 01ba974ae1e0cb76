//! Device meshes: named axes over devices, and arithmetic on coordinates and replica groups.
//!
//! A *position* is a device's row-major index over the axes (the first axis is the most significant); the *device id* identifies the device
//! in the runtime. Position and device id differ only if the mesh lists explicit ids.

use indexmap::IndexMap;
use smallvec::SmallVec;

use crate::{AttrDict, Digit, ReplicaGroups};

/// Axes from major to minor.
pub type AxisList = SmallVec<[AxisRef; 2]>;

/// A sub-axis of an axis of size `n`: if the axis is reshaped to `(pre, size, n / (pre * size))`, major to minor, the sub-axis is the
/// middle dimension. Printed as `"x":(pre)size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubAxis {
    /// Product of the sizes of the more major sub-axes.
    pub pre: u32,
    /// Size of this sub-axis.
    pub size: u32,
}

/// An axis of a mesh, or a sub-axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisRef {
    /// Index of the axis in its mesh.
    pub axis: u16,
    /// The sub-axis, if not the full axis.
    pub sub: Option<SubAxis>,
}

impl AxisRef {
    /// The full axis with this index.
    #[must_use]
    pub fn whole(axis: usize) -> Self {
        AxisRef { axis: axis as u16, sub: None }
    }
}

/// Devices arranged along named axes.
#[derive(Clone, Debug, Default, Eq)]
pub struct Mesh {
    /// Size of each axis by name, major to minor.
    pub axes: IndexMap<Box<str>, i64>,
    /// Device id at each position, if they are not `0..size`.
    pub device_ids: Option<Vec<i64>>,
    /// Discardable attributes of the mesh operation.
    pub attrs: AttrDict,
}

// Not derived: equality of maps ignores order, but the order of axes matters.
impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        let Mesh { axes, device_ids, attrs } = self;
        axes.iter().eq(&other.axes) && *device_ids == other.device_ids && *attrs == other.attrs
    }
}

impl Mesh {
    /// A mesh with these axes and device ids in ascending order.
    #[must_use]
    pub fn new<'a>(axes: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        Mesh { axes: axes.into_iter().map(|(n, s)| (n.into(), s)).collect(), ..Mesh::default() }
    }

    /// Returns the number of devices. A mesh without axes is one device.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.axes.values().map(|&n| n as usize).product()
    }

    /// Whether this is a maximal mesh: exactly one device with an explicit id, `<[], device_ids=[3]>`.
    #[must_use]
    pub fn is_maximal(&self) -> bool {
        self.axes.is_empty() && self.device_ids.as_ref().is_some_and(|ids| ids.len() == 1)
    }

    /// Number of shards that `axis` splits a dimension into.
    #[must_use]
    pub fn axis_size(&self, axis: AxisRef) -> i64 {
        match axis.sub {
            Some(sub) => i64::from(sub.size),
            None => self.full_size(axis),
        }
    }

    /// Size of the full axis that `axis` belongs to.
    #[must_use]
    pub fn full_size(&self, axis: AxisRef) -> i64 {
        self.axes[usize::from(axis.axis)]
    }

    /// Name of the full axis that `axis` belongs to.
    #[must_use]
    pub fn axis_name(&self, axis: AxisRef) -> &str {
        self.axes.get_index(usize::from(axis.axis)).map_or("?", |(name, _)| name)
    }

    /// The text of an axis for messages and manifests: `data`, or `data:(2)4` for a sub-axis.
    #[must_use]
    pub fn axis_text(&self, axis: AxisRef) -> String {
        match axis.sub {
            Some(sub) => format!("{}:({}){}", self.axis_name(axis), sub.pre, sub.size),
            None => self.axis_name(axis).to_owned(),
        }
    }

    /// Product of the sizes of `axes`.
    #[must_use]
    pub fn axes_size(&self, axes: &[AxisRef]) -> i64 {
        axes.iter().map(|&a| self.axis_size(a)).product()
    }

    /// The stride that maps a device's position in the mesh to its coordinate along `axis`: `(position / stride) % size`.
    #[must_use]
    pub fn stride(&self, axis: AxisRef) -> i64 {
        let minor: i64 = self.axes.values().skip(usize::from(axis.axis) + 1).product();
        match axis.sub {
            Some(sub) => minor * (self.full_size(axis) / (i64::from(sub.pre) * i64::from(sub.size))),
            None => minor,
        }
    }

    /// Coordinate along `axis` of the device at `position`.
    #[must_use]
    pub fn coordinate(&self, position: usize, axis: AxisRef) -> i64 {
        (position as i64 / self.stride(axis)) % self.axis_size(axis)
    }

    /// The coordinates along `axes` of the device at `position`, as one row-major index.
    #[must_use]
    pub fn linear_coordinate(&self, position: usize, axes: &[AxisRef]) -> i64 {
        axes.iter().fold(0, |index, &a| index * self.axis_size(a) + self.coordinate(position, a))
    }

    /// Device id at `position`.
    #[must_use]
    pub fn device_at(&self, position: usize) -> i64 {
        self.device_ids.as_ref().map_or(position as i64, |ids| ids[position])
    }

    /// Whether both meshes have the same devices at the same positions.
    #[must_use]
    pub fn has_devices_of(&self, other: &Mesh) -> bool {
        self.num_devices() == other.num_devices()
            && (0..self.num_devices()).all(|position| self.device_at(position) == other.device_at(position))
    }

    /// Replica groups of a collective over `axes`: each group holds the devices that differ only along
    /// `axes`, in the order of their index over `axes`; groups are ordered by their first position.
    #[must_use]
    pub fn replica_groups(&self, axes: &[AxisRef]) -> ReplicaGroups {
        if let Some(groups) = self.strided_groups(axes) {
            return groups;
        }
        // The time is O(devices x axes), since every group has the same offsets. A position whose coordinates along `axes` are all 0 is
        // the first of its group, and the others are at fixed offsets from it. For "y" of `["x"=2, "y"=2]`, the offsets are 0 and 1, and
        // the first positions are 0 and 2.
        let size = self.axes_size(axes) as usize;
        let mut ids = Vec::with_capacity(self.num_devices());
        let offsets: Vec<usize> = (0..size)
            .map(|mut index| {
                let mut offset = 0;
                for &a in axes.iter().rev() {
                    let n = self.axis_size(a) as usize;
                    offset += (index % n) * self.stride(a) as usize;
                    index /= n;
                }
                offset
            })
            .collect();
        for position in 0..self.num_devices() {
            if axes.iter().all(|&a| self.coordinate(position, a) == 0) {
                ids.extend(offsets.iter().map(|o| self.device_at(position + o)));
            }
        }
        ReplicaGroups::matrix(ids, size)
    }

    /// Returns the replica groups over `axes` in strided form, if device ids are positions and the axes are mixed-radix digits.
    fn strided_groups(&self, axes: &[AxisRef]) -> Option<ReplicaGroups> {
        if self.device_ids.is_some() {
            return None;
        }
        let digit = |stride: i64, size: i64| -> Option<Digit> {
            Some(Digit { stride: u32::try_from(stride).ok()?, size: u32::try_from(size).ok()? })
        };
        let members: Vec<Digit> =
            axes.iter().map(|&a| digit(self.stride(a), self.axis_size(a))).collect::<Option<_>>()?;
        // The remaining digits distinguish the groups.
        let mut taken: Vec<Digit> = members.iter().copied().filter(|digit| digit.size != 1).collect();
        taken.sort_unstable();
        let mut groups = Vec::with_capacity(taken.len() + 1);
        let mut reached = 1;
        for next in taken {
            groups.push(digit(reached, i64::from(next.stride).checked_div(reached)?)?);
            reached = i64::from(next.stride) * i64::from(next.size);
        }
        groups.push(digit(reached, (self.num_devices() as i64).checked_div(reached)?)?);
        groups.reverse();
        ReplicaGroups::strided(groups, members)
    }

    /// Returns the axes or sub-axes over which [`Mesh::replica_groups`] gives `groups`; `None` if there are none.
    #[must_use]
    pub fn axes_of_groups(&self, groups: &ReplicaGroups) -> Option<AxisList> {
        let positions = self.device_ids.as_ref().map(|ids| {
            let mut positions = vec![-1; ids.len()];
            for (position, &id) in (0..).zip(ids) {
                if let Some(slot) = usize::try_from(id).ok().and_then(|id| positions.get_mut(id)) {
                    *slot = position;
                }
            }
            groups.map(|id| usize::try_from(id).ok().and_then(|id| positions.get(id).copied()).unwrap_or(-1))
        });
        let mut axes = AxisList::new();
        for digit in positions.as_ref().unwrap_or(groups).as_strided()?.members() {
            let (stride, end) = (i64::from(digit.stride), i64::try_from(digit.end()).ok()?);
            for axis in self.all_axes() {
                // The part of the axis (a sub-axis, or the full axis) that has the same strides as a part of the digit.
                let (minor, whole) = (self.stride(axis), self.stride(axis) * self.axis_size(axis));
                let (low, high) = (minor.max(stride), whole.min(end));
                if low >= high {
                    continue;
                }
                let part =
                    SubAxis { pre: u32::try_from(whole / high).ok()?, size: u32::try_from(high / low).ok()? };
                axes.push(AxisRef { sub: ((low, high) != (minor, whole)).then_some(part), ..axis });
            }
        }
        (self.replica_groups(&axes) == *groups).then_some(axes)
    }

    /// Whether the axis has size 1, so that it shards nothing.
    #[must_use]
    pub fn is_trivial(&self, axis: AxisRef) -> bool {
        self.axis_size(axis) == 1
    }

    /// Every full axis, major to minor.
    #[must_use]
    pub fn all_axes(&self) -> SmallVec<[AxisRef; 4]> {
        (0..self.axes.len()).map(AxisRef::whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(axis: u16, pre: u32, size: u32) -> AxisRef {
        AxisRef { axis, sub: Some(SubAxis { pre, size }) }
    }

    #[test]
    fn replica_groups_follow_the_order_of_the_axes() {
        let mesh = Mesh::new([("x", 2), ("y", 4)]);
        assert_eq!(mesh.replica_groups(&[AxisRef::whole(1)]).to_lists(), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(mesh.replica_groups(&[AxisRef::whole(0)]).to_lists(), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(
            mesh.replica_groups(&[AxisRef::whole(1), AxisRef::whole(0)]).to_lists(),
            [[0, 4, 1, 5, 2, 6, 3, 7]]
        );
    }

    #[test]
    fn sub_axes_split_an_axis_major_to_minor() {
        let mesh = Mesh::new([("x", 8)]);
        assert_eq!(mesh.replica_groups(&[sub(0, 1, 2)]).to_lists(), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(mesh.replica_groups(&[sub(0, 2, 4)]).to_lists(), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(mesh.coordinate(6, sub(0, 2, 2)), 1);
    }

    #[test]
    fn the_order_of_axes_makes_a_difference() {
        assert_eq!(Mesh::new([("x", 2), ("y", 4)]), Mesh::new([("x", 2), ("y", 4)]));
        assert_ne!(Mesh::new([("x", 2), ("y", 4)]), Mesh::new([("y", 4), ("x", 2)]));
    }

    #[test]
    fn groups_are_along_the_axes_that_they_came_from() {
        let order = Some(vec![0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
        for device_ids in [None, order] {
            let mesh = Mesh { device_ids, ..Mesh::new([("x", 2), ("y", 4), ("z", 2)]) };
            let (x, y, z) = (AxisRef::whole(0), AxisRef::whole(1), AxisRef::whole(2));
            for axes in [
                vec![x],
                vec![y],
                vec![z],
                vec![x, y],
                vec![y, x],
                vec![x, z],
                vec![z, y],
                vec![x, y, z],
                vec![sub(1, 1, 2)],
                vec![sub(1, 2, 2), x],
                vec![sub(1, 2, 2), z],
                vec![],
            ] {
                let found = mesh.axes_of_groups(&mesh.replica_groups(&axes));
                assert_eq!(found.as_deref(), Some(axes.as_slice()));
            }
            assert_eq!(mesh.axes_of_groups(&ReplicaGroups::from(vec![vec![1, 0]])), None);
            assert_eq!(mesh.axes_of_groups(&ReplicaGroups::all(8)), None);
        }
    }

    #[test]
    fn device_ids_permute_groups() {
        let mesh = Mesh { device_ids: Some(vec![3, 2, 1, 0]), ..Mesh::new([("x", 2), ("y", 2)]) };
        assert_eq!(mesh.replica_groups(&[AxisRef::whole(1)]).to_lists(), [[3, 2], [1, 0]]);
    }
}
