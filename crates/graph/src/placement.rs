//! Placements of tensors: the blocks that devices hold.

use std::ops::Range;

use shardc_ir::{EntityRef, MeshId, TensorSharding};

use crate::error::Here;
use crate::{GraphError, Mesh, PartitionSpec};

/// The block that one device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceBlock {
    /// The device's id.
    pub device: i64,
    /// The index of the block along each dimension.
    pub block: Vec<i64>,
    /// The index range of the block in the tensor, per dimension. If a dimension is not divisible by the number of blocks, the last blocks
    /// are shorter or empty, and are padded on the device.
    pub ranges: Vec<Range<i64>>,
}

/// The placement of a tensor: the block that each device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Global shape of the tensor.
    pub shape: Vec<i64>,
    /// Number of blocks along each dimension.
    pub blocks: Vec<i64>,
    /// Local shape on each device, padding included: `ceil(n / k)`.
    pub block_shape: Vec<i64>,
    /// The devices in ascending order of their ids.
    pub devices: Vec<DeviceBlock>,
}

/// Returns the placement of a tensor of this shape with the sharding `spec`.
///
/// # Errors
/// The specification does not fit the mesh or the shape, or a size is negative.
#[track_caller]
pub fn placement(
    mesh: &Mesh,
    shape: impl AsRef<[i64]>,
    spec: &PartitionSpec,
) -> Result<Placement, GraphError> {
    let shape = shape.as_ref();
    crate::graph::check_shape(shape).here()?;
    let sharding = spec.resolve(mesh.as_ir(), MeshId::new(0), shape).here()?;
    Ok(placement_of(mesh.as_ir(), shape, &sharding))
}

/// Returns the placement of a tensor of this shape and sharding, in a verified module.
#[must_use]
pub fn placement_of(mesh: &shardc_ir::Mesh, shape: &[i64], sharding: &TensorSharding) -> Placement {
    let blocks: Vec<i64> = (0..shape.len()).map(|d| sharding.shards(mesh, d)).collect();
    let block_shape: Vec<i64> = sharding.local_shape(mesh, shape).to_vec();
    let mut devices: Vec<DeviceBlock> = (0..mesh.num_devices())
        .map(|position| {
            let block: Vec<i64> =
                sharding.dims.iter().map(|dim| mesh.linear_coordinate(position, &dim.axes)).collect();
            let range = |d: usize| -> Range<i64> {
                let (n, size) = (shape[d], block_shape[d]);
                (block[d] * size).min(n)..((block[d] + 1) * size).min(n)
            };
            let ranges = (0..shape.len()).map(range).collect();
            DeviceBlock { device: mesh.device_at(position), block, ranges }
        })
        .collect();
    devices.sort_by_key(|d| d.device);
    Placement { shape: shape.to_vec(), blocks, block_shape, devices }
}

/// Draws a picture of the placement of a tensor of this shape with the sharding `spec`, optionally in terminal colors. See
/// [`Placement::visualize`].
///
/// ```
/// use shardc_graph::{Mesh, spec, visualize_sharding};
/// let mesh = Mesh::new(&[("data", 2), ("model", 2)])?;
/// let text = visualize_sharding(&mesh, [8, 4], &spec!["data", "model"], false)?;
/// assert!(text.contains("0..4│  0   │  1   │"));
/// # Ok::<(), shardc_graph::GraphError>(())
/// ```
///
/// # Errors
/// The errors of [`placement()`].
#[track_caller]
pub fn visualize_sharding(
    mesh: &Mesh,
    shape: impl AsRef<[i64]>,
    spec: &PartitionSpec,
    use_color: bool,
) -> Result<String, GraphError> {
    Ok(placement(mesh, shape, spec)?.visualize(use_color))
}

impl Placement {
    /// Returns the ids of the devices that hold a block, in ascending order; there are several if the block is replicated.
    #[must_use]
    pub fn holders(&self, block: &[i64]) -> Vec<i64> {
        self.devices.iter().filter(|d| d.block == block).map(|d| d.device).collect()
    }

    /// Returns the blocks in row-major order, each with its devices.
    pub(crate) fn by_block(&self) -> Vec<(&DeviceBlock, Vec<i64>)> {
        let mut order: Vec<&DeviceBlock> = self.devices.iter().collect();
        order.sort_by(|a, b| a.block.cmp(&b.block).then(a.device.cmp(&b.device)));
        let mut out: Vec<(&DeviceBlock, Vec<i64>)> = Vec::new();
        for held in order {
            match out.last_mut() {
                Some((last, devices)) if last.block == held.block => devices.push(held.device),
                _ => out.push((held, vec![held.device])),
            }
        }
        out
    }
}
