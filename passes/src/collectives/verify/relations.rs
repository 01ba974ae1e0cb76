//! What the analysis of convergence asks about devices: two ways to answer it.

use shardc_ir::{AxisRef, Mesh, Module, OpId, ReplicaGroups, ValueId};

use super::agreement::Agreement;

/// Equivalence relations over the devices of a program, and integers that devices compute from their number.
///
/// [`super::enumerated::Enumerated`] looks at every device and is exact. [`super::coordinates::Coordinates`] looks at
/// coordinates only, in time that does not depend on the number of devices; what it calls alike is alike, but it may call
/// devices different that are not.
pub(super) trait Relations {
    /// An integer for each device.
    type Number: Clone + PartialEq;

    /// Returns the relation in which no two devices are alike.
    fn apart(&self) -> Agreement;

    /// Returns the meet of two relations: devices that are alike in both.
    fn refine(&mut self, a: Agreement, b: Agreement) -> Agreement;

    /// Returns which devices have the same block of what `axes` split.
    fn blocks(&mut self, mesh: &Mesh, axes: &[AxisRef]) -> Agreement;

    /// Returns which devices agree after a collective in which what each gets follows from what its group puts in and, if
    /// `by_place`, from its place in the group.
    fn exchange(&mut self, groups: &ReplicaGroups, before: Agreement, by_place: bool) -> Agreement;

    /// Returns which devices agree after a permute: each gets what its source holds, or zeros.
    fn permute(&mut self, pairs: &ReplicaGroups, before: Agreement) -> Agreement;

    /// Returns two members of a group that are not alike.
    fn divergence(&self, groups: &ReplicaGroups, control: Agreement) -> Option<(i64, i64)>;

    /// Returns the number that each device gets as its own. Devices that do not differ along `axes` of the mesh get that of
    /// the first of them.
    fn own_number(&mut self, along: Option<(&Mesh, &[AxisRef])>) -> (Agreement, Option<Self::Number>);

    /// Returns the integer that an operation computes on each device, if it follows from the `known` ones.
    fn evaluate(
        &mut self,
        module: &Module,
        op: OpId,
        known: &dyn Fn(ValueId) -> Option<Self::Number>,
    ) -> Option<(Agreement, Self::Number)>;
}
