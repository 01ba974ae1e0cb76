//! Bodies of `sdy.manual_computation`, which contain the user's explicit collectives.
//!
//! A manual computation over axes `A` executes its body once per coordinate along `A`, on that coordinate's blocks of the operands. Along
//! the other axes of the mesh, the free axes, the body is partitioned like any other program. A `Scope` contains the axes that are manual
//! at some point of the program, including those of all enclosing computations.
//!
//! Planning must satisfy the following conditions:
//!
//! * A collective of the input program must not distinguish devices that differ along a free axis (`groups`), and a permute of blocks
//!   stays within a manual coordinate.
//! * At the boundary, free axes must evenly divide each manual coordinate's block; otherwise blocks inside and outside differ (`boundary`).
//! * In the body, devices that differ only along free axes are one device: `partition_id` returns the ID of the first of them.
//!
//! `unroll` expands a manual computation for one device, as the reference of `shardc verify`. It shares only the interpretation of groups
//! with partitioning.

mod boundary;
mod coordinates;
mod device_order;
mod groups;
mod unroll;

use shardc_ir::{AxisList, AxisRef, Effect, ManualSpec, Mesh, MeshId, Module, OpKind};

pub use boundary::{boundary_that_divides, inside};
pub use device_order::renamed;
pub use groups::{device_groups, takes_global_ids};
pub use unroll::unroll_manual;

/// Returns the mesh of a manual computation, from its shardings, which all refer to the same devices. Returns `None` if
/// it has no operands and results.
pub fn mesh_of(module: &Module, spec: &ManualSpec) -> Option<MeshId> {
    let meshes =
        || spec.in_shardings.iter().chain(&spec.out_shardings).map(|&id| module.shardings.get(id).mesh);
    meshes().find(|&id| !module.meshes[id].axes.is_empty()).or_else(|| meshes().next())
}

/// The axes that are manual at some point of the program (including those of enclosing computations), without axes of size 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The manual axes: first those of the outermost computation, each in the order in which the computation lists them.
    pub axes: AxisList,
}

impl Scope {
    /// Returns the scope inside the body of the manual computation `spec`, which is in the scope `self`.
    pub fn enter(&self, mesh: &Mesh, spec: &ManualSpec) -> Scope {
        let mut axes = self.axes.clone();
        for axis in &spec.manual_axes {
            // A computation without operands and results has no mesh to which its axes could belong.
            let is_known = usize::from(axis.axis) < mesh.axes.len();
            let axis = AxisRef::whole(usize::from(axis.axis));
            if is_known && !mesh.is_trivial(axis) && !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        Scope { axes }
    }

    /// Returns the axes that are not manual, without axes of size 1.
    pub fn free_axes(&self, mesh: &Mesh) -> AxisList {
        mesh.all_axes().into_iter().filter(|a| !mesh.is_trivial(*a) && !self.axes.contains(a)).collect()
    }

    /// Whether every axis is manual.
    pub fn is_full(&self, mesh: &Mesh) -> bool {
        self.free_axes(mesh).is_empty()
    }
}

/// Whether the operation is a collective or returns the device ID. Only such operations have special semantics in a manual computation.
pub fn is_manual_op(kind: &OpKind) -> bool {
    matches!(kind.def().effect, Effect::Collective | Effect::DeviceNumber)
}
