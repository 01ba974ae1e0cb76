//! What whoever feeds a partitioned program must know: how each argument and result is split.

use shardc_ir::{Mesh, Shape, SpmdMode, TensorSharding, TensorType};

/// A parameter or result of the partitioned program.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceTensor {
    /// Name, where the program gives one.
    pub name: Option<String>,
    /// Whether it is a token (`!stablehlo.token`): it orders effects and holds no data. It has no dimensions and is not
    /// split; what [`InterfaceTensor::global`] says of its element type means nothing.
    pub is_token: bool,
    /// Type of the whole tensor.
    pub global: TensorType,
    /// What each device holds: `ceil(n / k)` per dimension.
    pub local_shape: Shape,
    /// How it is split.
    pub sharding: TensorSharding,
    /// The mesh in [`Interface::meshes`] that the sharding is on, if not [`Interface::mesh`].
    pub mesh: Option<Box<str>>,
    /// The kind of memory that it lies in (`pinned_host`), where that is not the device's own.
    pub memory_kind: Option<Box<str>>,
    /// For a donated parameter, the result that may take its memory.
    pub donated_to: Option<usize>,
}

/// What whoever feeds the partitioned program must know.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// How devices see one another.
    pub mode: SpmdMode,
    /// The devices.
    pub mesh: Mesh,
    /// Meshes by name with the devices in other orders, where a tensor is on one.
    pub meshes: Vec<(Box<str>, Mesh)>,
    /// Parameters in order.
    pub inputs: Vec<InterfaceTensor>,
    /// Results in order.
    pub outputs: Vec<InterfaceTensor>,
}

impl Interface {
    /// The mesh that `tensor` is on.
    #[must_use]
    pub fn mesh_of(&self, tensor: &InterfaceTensor) -> &Mesh {
        let named = tensor.mesh.as_ref().and_then(|name| self.meshes.iter().find(|(n, _)| n == name));
        named.map_or(&self.mesh, |(_, mesh)| mesh)
    }
}
