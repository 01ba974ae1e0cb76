//! Device relations by coordinates: devices are equivalent if they have the same coordinates along a set of axes.
//!
//! A device ID is a mixed-radix number whose digits are the coordinates along (sub-)axes, and a relation is a set of digits. The effect
//! of a collective follows from the digits in which the members of its groups differ. Individual devices are inspected only for permutes
//! and for groups without strides, whose lists have one entry per device.
//!
//! A relation that does not have this form is replaced by a finer one. Therefore a proof of convergence is sound. If these relations do
//! not prove convergence, [`super::enumerated`] decides.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisRef, Digit, Mesh, Module, OpId, ReplicaGroups, ValueId};

use super::agreement::Agreement;
use super::numbers::{Number, Numbers};
use super::relations::Relations;

/// The mixed-radix digits of device IDs, and the effects of permutes.
pub(super) struct Coordinates {
    devices: usize,
    /// The digits, least significant first. Relations do not split a digit.
    digits: Vec<Digit>,
    numbers: Numbers,
    permutes: FxHashMap<ReplicaGroups, Moved>,
}

/// The effect of a collective permute on coordinates.
#[derive(Clone, Copy)]
struct Moved {
    /// The digits of the device ID in which the source and the target of at least one pair differ.
    digits: Agreement,
    /// Whether the permute maps the digits in `digits` in the same way for every combination of the other digits.
    is_alike: bool,
}

/// Collects the strides and ends (stride times size) of the digits by which a program distinguishes devices.
#[derive(Default)]
pub(super) struct Cuts(Vec<i64>);

impl Cuts {
    /// Records the strides and ends of the digits that define a collective's groups.
    pub(super) fn groups(&mut self, groups: &ReplicaGroups) {
        if let Some(strided) = groups.as_strided() {
            let digits = strided.members().iter().chain(strided.groups());
            self.0.extend(digits.flat_map(|digit| [i64::from(digit.stride), digit.end() as i64]));
        }
    }

    /// Records the strides and ends of mesh axes or sub-axes.
    pub(super) fn axes(&mut self, mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) {
        for axis in axes {
            let stride = mesh.stride(axis);
            self.0.extend([stride, stride * mesh.axis_size(axis)]);
        }
    }
}

impl Coordinates {
    /// Returns the mixed-radix system of device IDs in which each number in `cuts` separates two digits. Returns `None` if there is no such
    /// system for `devices`, for example if sub-axes overlap.
    pub(super) fn new(devices: usize, cuts: Cuts) -> Option<Coordinates> {
        let mut cuts = cuts.0;
        cuts.extend([1, i64::try_from(devices).ok()?]);
        cuts.sort_unstable();
        cuts.dedup();
        let mut digits = Vec::with_capacity(cuts.len());
        for pair in cuts.windows(2) {
            let &[stride, end] = pair else { continue };
            let size = end.checked_div(stride).filter(|size| size * stride == end)?;
            digits.push(Digit { stride: u32::try_from(stride).ok()?, size: u32::try_from(size).ok()? });
        }
        let in_order = cuts.first() == Some(&1) && cuts.last() == Some(&(devices as i64));
        let numbers = Numbers::new(&digits);
        (in_order && digits.len() < 32).then(|| Coordinates {
            devices,
            digits,
            numbers,
            permutes: FxHashMap::default(),
        })
    }

    /// Returns the digits of this number system that are parts of the digits `of`, which may be larger. Returns `None` if one of `of`
    /// contains only part of a digit.
    fn within(&self, of: &[Digit]) -> Option<Agreement> {
        let mut inside = Agreement::ALIKE;
        for (at, &digit) in self.digits.iter().enumerate() {
            for &larger in of.iter().filter(|&&larger| larger.size > 1 && !digit.is_apart_from(larger)) {
                let is_in =
                    digit.stride.is_multiple_of(larger.stride) && larger.end().is_multiple_of(digit.end());
                inside = is_in.then(|| inside.with_digit(at))?;
            }
        }
        Some(inside)
    }

    /// Returns the digits of the device ID that are the coordinates along mesh axes. Returns `None` unless the mesh contains all devices in
    /// order.
    fn along(&self, mesh: &Mesh, axes: &[AxisRef]) -> Option<Agreement> {
        if mesh.num_devices() != self.devices {
            return None;
        }
        let digit = |&axis: &AxisRef| -> Option<Digit> {
            let (stride, size) = (mesh.stride(axis), mesh.axis_size(axis));
            Some(Digit { stride: u32::try_from(stride).ok()?, size: u32::try_from(size).ok()? })
        };
        let digits: Vec<Digit> =
            axes.iter().filter(|&&axis| !mesh.is_trivial(axis)).map(digit).collect::<Option<_>>()?;
        if mesh.device_ids.is_some() && !digits.is_empty() {
            return None;
        }
        self.within(&digits)
    }

    /// Whether two devices have the same coordinates along `digits`.
    fn are_alike(&self, digits: Agreement, a: i64, b: i64) -> bool {
        self.coordinates(digits, a) == self.coordinates(digits, b)
    }

    /// Returns the device ID with all digits set to zero except `digits`.
    fn coordinates(&self, digits: Agreement, device: i64) -> i64 {
        let chosen = self.digits.iter().enumerate().filter(|&(at, _)| digits.has_digit(at));
        chosen.fold(0, |number, (_, digit)| {
            let stride = i64::from(digit.stride);
            number + (device / stride) % i64::from(digit.size) * stride
        })
    }

    fn moved(&mut self, pairs: &ReplicaGroups) -> Moved {
        if let Some(&known) = self.permutes.get(pairs) {
            return known;
        }
        let both = || pairs.iter().filter_map(|pair| pair.pair());
        let differs = |at: usize| {
            let digit = Agreement::ALIKE.with_digit(at);
            both().any(|(source, target)| !self.are_alike(digit, source, target))
        };
        let digits =
            (0..self.digits.len()).filter(|&at| differs(at)).fold(Agreement::ALIKE, Agreement::with_digit);
        let lines: FxHashSet<(i64, i64)> = both()
            .map(|(source, target)| (self.coordinates(digits, source), self.coordinates(digits, target)))
            .collect();
        let others: usize = self.digits.iter().enumerate().fold(1, |count, (at, digit)| {
            if digits.has_digit(at) { count } else { count * digit.size as usize }
        });
        let moved = Moved { digits, is_alike: lines.len() * others == pairs.len() };
        self.permutes.insert(pairs.clone(), moved);
        moved
    }
}

impl Relations for Coordinates {
    type Number = Number;

    fn apart(&self) -> Agreement {
        (0..self.digits.len()).fold(Agreement::ALIKE, Agreement::with_digit)
    }

    fn refine(&mut self, a: Agreement, b: Agreement) -> Agreement {
        a.and(b)
    }

    fn blocks(&mut self, mesh: &Mesh, axes: &[AxisRef]) -> Agreement {
        self.along(mesh, axes).unwrap_or_else(|| self.apart())
    }

    fn exchange(&mut self, groups: &ReplicaGroups, before: Agreement, by_place: bool) -> Agreement {
        let covers_all = groups.num_ids() == self.devices && groups.group_size().is_some();
        if covers_all && !by_place && (before == Agreement::ALIKE || groups.len() == 1) {
            return Agreement::ALIKE;
        }
        let strided = groups.as_strided().filter(|_| covers_all);
        let Some(members) = strided.and_then(|strided| self.within(strided.members())) else {
            return self.apart();
        };
        // The members of a group differ in the digits `members`, and each of them receives the values of all members.
        let after = before.without(members);
        if by_place { after.and(members) } else { after }
    }

    fn permute(&mut self, pairs: &ReplicaGroups, before: Agreement) -> Agreement {
        if before == Agreement::ALIKE && (pairs.is_empty() || pairs.len() == self.devices) {
            return Agreement::ALIKE;
        }
        let moved = self.moved(pairs);
        if moved.is_alike { before.and(moved.digits) } else { self.apart() }
    }

    fn divergence(&self, groups: &ReplicaGroups, control: Agreement) -> Option<(i64, i64)> {
        if let Some(members) = groups.as_strided().and_then(|strided| self.within(strided.members()))
            && members.without(control) == members
        {
            return None;
        }
        groups.iter().find_map(|group| {
            let first = group.first()?;
            let other = group.iter().find(|&d| d >= 0 && !self.are_alike(control, d, first))?;
            Some((first, other))
        })
    }

    fn own_number(&mut self, along: Option<(&Mesh, &[AxisRef])>) -> (Agreement, Option<Number>) {
        let digits = match along {
            None => Some(self.apart()),
            Some((mesh, axes)) => self.along(mesh, axes).filter(|_| mesh.device_ids.is_none()),
        };
        (digits.unwrap_or_else(|| self.apart()), digits.map(|digits| self.numbers.own(digits)))
    }

    fn evaluate(
        &mut self,
        module: &Module,
        op: OpId,
        known: &dyn Fn(ValueId) -> Option<Number>,
    ) -> Option<(Agreement, Number)> {
        let number = self.numbers.evaluate(module, op, known)?;
        Some((number.depends_on(), number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::verify::enumerated::Enumerated;

    fn relations(mesh: &Mesh, groups: &[ReplicaGroups]) -> Coordinates {
        let mut cuts = Cuts::default();
        cuts.axes(mesh, mesh.all_axes());
        groups.iter().for_each(|groups| cuts.groups(groups));
        Coordinates::new(mesh.num_devices(), cuts).expect("a mixed radix")
    }

    /// Whether devices that are equivalent in `coordinates` are equivalent in the per-device relation and, if `exact`, vice versa.
    fn agrees(
        coordinates: (&Coordinates, Agreement),
        devices: (&Enumerated, Agreement),
        exact: bool,
    ) -> bool {
        let classes = devices.0.classes(devices.1);
        let pairs = || (0..classes.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs().all(|(a, b)| {
            let (found, is) =
                (coordinates.0.are_alike(coordinates.1, a as i64, b as i64), classes[a] == classes[b]);
            if exact { found == is } else { is || !found }
        })
    }

    /// Compares the coordinate relations with the per-device relations. They are equal for values that depend on any set of axes, also
    /// after any collective along axes. After a permute, the coordinate relation is equal or finer.
    #[test]
    fn coordinates_and_devices_are_equivalent() {
        for sizes in [[2, 3, 2], [4, 2, 2], [3, 1, 5]] {
            let mesh = Mesh::new(["x", "y", "z"].into_iter().zip(sizes));
            let devices = mesh.num_devices();
            let subsets: Vec<Vec<AxisRef>> = (0..8)
                .map(|set| (0..3).filter(|axis| set >> axis & 1 == 1).map(AxisRef::whole).collect())
                .collect();
            let groups: Vec<ReplicaGroups> = subsets.iter().map(|axes| mesh.replica_groups(axes)).collect();
            let mut coordinates = relations(&mesh, &groups);
            let mut each = Enumerated::new(devices);
            let shift = |axis: AxisRef, wraps: bool| {
                let size = mesh.axis_size(axis) as usize;
                let lines = mesh.replica_groups(&[axis]).to_lists();
                ReplicaGroups::pairs(lines.into_iter().flat_map(move |line| {
                    (0..if wraps { size } else { size - 1 }).map(move |i| (line[i], line[(i + 1) % size]))
                }))
            };
            let some: ReplicaGroups = ReplicaGroups::pairs([(0, 1), (2, 3)]);
            let permutes: Vec<ReplicaGroups> = mesh
                .all_axes()
                .into_iter()
                .flat_map(|axis| [shift(axis, true), shift(axis, false)])
                .chain([some, ReplicaGroups::default()])
                .collect();
            for axes in &subsets {
                let (a, b) = (coordinates.blocks(&mesh, axes), each.blocks(&mesh, axes));
                assert!(agrees((&coordinates, a), (&each, b), true), "{sizes:?} {axes:?}");
                for groups in &groups {
                    for by_place in [false, true] {
                        let after = coordinates.exchange(groups, a, by_place);
                        let is = each.exchange(groups, b, by_place);
                        assert!(
                            agrees((&coordinates, after), (&each, is), true),
                            "{sizes:?} {axes:?} {groups:?}"
                        );
                    }
                    let (found, is) = (coordinates.divergence(groups, a), each.divergence(groups, b));
                    assert_eq!(found, is, "{sizes:?} {axes:?} {groups:?}");
                }
                for pairs in &permutes {
                    let (after, is) = (coordinates.permute(pairs, a), each.permute(pairs, b));
                    assert!(
                        agrees((&coordinates, after), (&each, is), false),
                        "{sizes:?} {axes:?} {pairs:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn overlapping_sub_axes_are_not_a_mixed_radix() {
        let mesh = Mesh::new([("x", 6)]);
        let part = |pre, size| AxisRef { axis: 0, sub: Some(shardc_ir::SubAxis { pre, size }) };
        let mut cuts = Cuts::default();
        cuts.axes(&mesh, [part(1, 2), part(2, 3)]);
        let mut relations = Coordinates::new(6, cuts).expect("a mixed radix");
        let misfit = relations.blocks(&mesh, &[part(1, 3)]);
        assert_eq!(misfit, relations.apart());
        let mut cuts = Cuts::default();
        cuts.axes(&mesh, [part(1, 2), part(1, 3)]);
        assert!(Coordinates::new(6, cuts).is_none());
    }

    #[test]
    fn a_million_devices() {
        let mesh = Mesh::new([("x", 1024), ("y", 1024)]);
        let groups = [AxisRef::whole(0), AxisRef::whole(1)].map(|axis| mesh.replica_groups(&[axis]));
        let mut relations = relations(&mesh, &groups);
        let rows = relations.blocks(&mesh, &[AxisRef::whole(0)]);
        assert_eq!(relations.divergence(&groups[0], rows), Some((0, 1024)));
        assert_eq!(relations.divergence(&groups[1], rows), None);
        assert_eq!(relations.exchange(&groups[0], rows, false), Agreement::ALIKE);
    }
}
