//! The interface of a partitioned program: how each argument and result is sharded.

use shardc_ir::{Mesh, Shape, SpmdMode, TensorSharding, TensorType};

/// An argument or result of the partitioned program.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceTensor {
    /// The name, if the program specifies one.
    pub name: Option<String>,
    /// Whether the value is a token (`!stablehlo.token`), which orders side effects and holds no data. A token has no dimensions and is not
    /// sharded, and the element type in [`InterfaceTensor::global`] is meaningless.
    pub is_token: bool,
    /// The type of the unsharded tensor.
    pub global: TensorType,
    /// The shape of each device's block: `ceil(n / k)` per dimension.
    pub local_shape: Shape,
    /// The sharding of the tensor.
    pub sharding: TensorSharding,
    /// The name in [`Interface::meshes`] of the mesh that the sharding refers to; `None` if that is [`Interface::mesh`].
    pub mesh: Option<Box<str>>,
    /// The memory kind (`pinned_host`), if it is not device memory.
    pub memory_kind: Option<Box<str>>,
    /// For a donated argument, the index of the result that may reuse its memory.
    pub donated_to: Option<usize>,
}

/// The arguments and results of a partitioned program, for its caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Whether devices are partitions or replicas.
    pub mode: SpmdMode,
    /// The mesh of all devices, to which most shardings refer.
    pub mesh: Mesh,
    /// Further meshes that the shardings of some tensors refer to, by name: they have other device orders than [`Interface::mesh`].
    pub meshes: Vec<(Box<str>, Mesh)>,
    /// The arguments, in order.
    pub inputs: Vec<InterfaceTensor>,
    /// The results, in order.
    pub outputs: Vec<InterfaceTensor>,
}

impl Interface {
    /// Returns the mesh that the sharding of `tensor` refers to.
    #[must_use]
    pub fn mesh_of(&self, tensor: &InterfaceTensor) -> &Mesh {
        let named = tensor.mesh.as_ref().and_then(|name| self.meshes.iter().find(|(n, _)| n == name));
        named.map_or(&self.mesh, |(_, mesh)| mesh)
    }
}
