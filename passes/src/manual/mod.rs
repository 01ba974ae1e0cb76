//! What stands inside of `sdy.manual_computation`: programs in which the user has placed the collectives.
//!
//! A manual computation over axes `A` runs its body once for each coordinate along `A`, on what that coordinate has of
//! the operands. The other axes of the mesh stay free: to them the body is a program like any other. A `Scope` says
//! which axes are manual at some place, those of all computations around it together.
//!
//! Planning needs to know where it is only for what devices do together: a collective of the program may not tell devices
//! apart that differ along a free axis (`groups`), and a permute of blocks stays within a manual coordinate. At the boundary the
//! free axes must divide what each manual coordinate has, else the two sides would disagree on the blocks (`boundary`). Devices
//! that differ along free axes are one to the program: `partition_id` gives the number of the first of them.
//!
//! `unroll` writes such a computation out for one device, as the reference of `shardc verify`. It shares with partitioning only
//! what the groups mean.

mod boundary;
mod coordinates;
mod device_order;
mod groups;
mod unroll;

use shardc_ir::{AxisList, AxisRef, Effect, ManualSpec, Mesh, MeshId, Module, OpKind};

pub(crate) use boundary::{boundary_that_divides, inside};
pub(crate) use device_order::renamed;
pub(crate) use groups::{device_groups, takes_global_ids};
pub use unroll::unroll_manual;

/// Returns the mesh of a manual computation: that of its shardings, which all name the same devices. `None` where it takes and
/// returns nothing.
pub(crate) fn mesh_of(module: &Module, spec: &ManualSpec) -> Option<MeshId> {
    let meshes =
        || spec.in_shardings.iter().chain(&spec.out_shardings).map(|&id| module.shardings.get(id).mesh);
    meshes().find(|&id| !module.meshes[id].axes.is_empty()).or_else(|| meshes().next())
}

/// The axes that are manual at some place. Axes of size one are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// In the order in which the computations name them, outer ones first.
    pub(crate) axes: AxisList,
}

impl Scope {
    /// Returns the scope of the body of a computation in this scope.
    pub(crate) fn enter(&self, mesh: &Mesh, spec: &ManualSpec) -> Scope {
        let mut axes = self.axes.clone();
        for axis in &spec.manual_axes {
            // Without a value that goes in or out there is no mesh that its axes would be of.
            let is_known = usize::from(axis.axis) < mesh.axes.len();
            let axis = AxisRef::whole(usize::from(axis.axis));
            if is_known && !mesh.is_trivial(axis) && !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        Scope { axes }
    }

    /// Returns the axes that are not manual; axes of size one are left out.
    pub(crate) fn free_axes(&self, mesh: &Mesh) -> AxisList {
        mesh.all_axes().into_iter().filter(|a| !mesh.is_trivial(*a) && !self.axes.contains(a)).collect()
    }

    /// Whether the program says what each device does.
    pub(crate) fn is_full(&self, mesh: &Mesh) -> bool {
        self.free_axes(mesh).is_empty()
    }
}

/// Whether devices meet in this operation, or tell themselves apart by it; nothing else has a meaning only in a manual
/// computation.
pub(crate) fn is_manual_op(kind: &OpKind) -> bool {
    matches!(kind.def().effect, Effect::Collective | Effect::DeviceNumber)
}
