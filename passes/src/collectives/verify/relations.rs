//! The interface common to the two analyses behind the convergence check: symbolic (by coordinates) and per device.

use shardc_ir::{AxisRef, Mesh, Module, OpId, ReplicaGroups, ValueId};

use super::agreement::Agreement;

/// Equivalence relations over the devices of a program, and integers that devices compute from their IDs.
///
/// [`super::enumerated::Enumerated`] inspects every device and is exact. [`super::coordinates::Coordinates`] inspects
/// only coordinates, in time independent of the number of devices. It is conservative: it never treats different devices as equivalent,
/// but it may distinguish equivalent devices.
pub(super) trait Relations {
    /// An integer that may differ between devices.
    type Number: Clone + PartialEq;

    /// Returns the relation in which no two devices are equivalent.
    fn apart(&self) -> Agreement;

    /// Returns the intersection of two relations: devices that are equivalent in both.
    fn refine(&mut self, a: Agreement, b: Agreement) -> Agreement;

    /// Returns the relation of devices that have the same shard of a tensor that is sharded by `axes`.
    fn blocks(&mut self, mesh: &Mesh, axes: &[AxisRef]) -> Agreement;

    /// Returns the relation of the results of a collective. Each device's result depends on the operands of its group and,
    /// if `by_place`, on its rank in the group.
    fn exchange(&mut self, groups: &ReplicaGroups, before: Agreement, by_place: bool) -> Agreement;

    /// Returns the relation of the results of a permute: each device receives its source's value, or zeros.
    fn permute(&mut self, pairs: &ReplicaGroups, before: Agreement) -> Agreement;

    /// Returns the IDs of two members of the same group that are not equivalent in `control`; `None` if all members of each group are
    /// equivalent.
    fn divergence(&self, groups: &ReplicaGroups, control: Agreement) -> Option<(i64, i64)>;

    /// Returns the ID that each device sees as its own: the relation of devices that see the same ID, and the ID as an integer if it can be
    /// represented. Devices that have the same coordinates along `axes` of the mesh see the ID of the first of them.
    fn own_number(&mut self, along: Option<(&Mesh, &[AxisRef])>) -> (Agreement, Option<Self::Number>);

    /// Returns the integer that an operation computes on each device, if it is determined by the `known` integers.
    fn evaluate(
        &mut self,
        module: &Module,
        op: OpId,
        known: &dyn Fn(ValueId) -> Option<Self::Number>,
    ) -> Option<(Agreement, Self::Number)>;
}
