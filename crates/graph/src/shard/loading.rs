//! Shardings for data loaders.

use crate::{GraphError, Mesh, PartitionSpec, Placement, Tensor, placement};

/// A partition specification on a mesh, for data loaders. The specification determines the placement of loaded arrays, and the sharding
/// of the parameter that they are passed to, like the `ShardingSpec` of PyTorch/XLA's loaders.
///
/// ```
/// use shardc_graph::{Mesh, ShardingSpec, spec};
/// let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
/// let images = ShardingSpec::new(&mesh, spec!["data", None, None, None]);
/// let placement = images.placement([32, 28, 28, 1])?;
/// assert_eq!(placement.block_shape, [8, 28, 28, 1]);
/// assert!(!images.can_apply([32]), "labels have one dimension");
/// # Ok::<(), shardc_graph::GraphError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ShardingSpec {
    mesh: Mesh,
    spec: PartitionSpec,
}

impl ShardingSpec {
    /// Creates a sharding of arrays by `spec`.
    #[must_use]
    pub fn new(mesh: &Mesh, spec: PartitionSpec) -> ShardingSpec {
        ShardingSpec { mesh: mesh.clone(), spec }
    }

    /// Creates a sharding of batches: arrays of rank `rank`, whose first dimension is sharded over these axes.
    ///
    /// ```
    /// use shardc_graph::{Mesh, ShardingSpec, spec};
    /// let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
    /// assert_eq!(ShardingSpec::batch(&mesh, "data", 2), ShardingSpec::new(&mesh, spec!["data", None]));
    /// # Ok::<(), shardc_graph::GraphError>(())
    /// ```
    #[must_use]
    pub fn batch(mesh: &Mesh, axes: impl Into<crate::DimSpec>, rank: usize) -> ShardingSpec {
        let mut spec = PartitionSpec::replicated(rank);
        if let Some(first) = spec.dims.first_mut() {
            *first = axes.into();
        }
        ShardingSpec::new(mesh, spec)
    }

    /// Returns the mesh that the axes of the specification refer to.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Returns the partition specification.
    #[must_use]
    pub fn spec(&self) -> &PartitionSpec {
        &self.spec
    }

    /// Returns whether an array of this shape can have this sharding: its rank is the number of entries, and the mesh has the axes.
    #[must_use]
    pub fn can_apply(&self, shape: impl AsRef<[i64]>) -> bool {
        placement(&self.mesh, shape, &self.spec).is_ok()
    }

    /// Returns the placement of an array of this shape.
    ///
    /// # Errors
    /// The specification does not fit the mesh or the shape.
    #[track_caller]
    pub fn placement(&self, shape: impl AsRef<[i64]>) -> Result<Placement, GraphError> {
        placement(&self.mesh, shape, &self.spec)
    }

    /// Annotates a tensor with this sharding; see [`Tensor::mark_sharding`]. The mesh of the tensor's graph must have the axes of the
    /// specification.
    #[track_caller]
    pub fn apply<'g>(&self, tensor: Tensor<'g>) -> Tensor<'g> {
        tensor.mark_sharding(self.spec.clone())
    }
}
