//! The boundary of a partitioned program: the block of each input and output on each device.

use shardc_ir::ReductionKind;

/// A digit of a position in the mesh: `position / stride % size`. A mesh axis is such a digit, and so is a sub-axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AxisDigit {
    /// The difference between positions that differ by one along the axis.
    pub stride: u64,
    /// The size of the axis.
    pub size: u64,
}

/// The block of a tensor on each device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The global shape.
    pub global: Vec<u64>,
    /// The local shape.
    pub local: Vec<u64>,
    /// For each dimension, the axes whose coordinates are the number of the block, from major to minor.
    pub axes: Vec<Vec<AxisDigit>>,
    /// The axes along which devices have partial results.
    pub unreduced: Vec<AxisDigit>,
    /// How partial results are combined.
    pub reduction: ReductionKind,
}

/// The devices, and the blocks of the inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Whether devices are partitions; otherwise they are replicas.
    pub are_partitions: bool,
    /// The device at each position in the mesh, row-major.
    pub device_ids: Vec<i64>,
    /// The inputs.
    pub inputs: Vec<Block>,
    /// The outputs.
    pub outputs: Vec<Block>,
}

impl Block {
    /// The number of blocks along a dimension.
    pub(crate) fn shards(&self, dim: usize) -> u64 {
        self.axes.get(dim).map_or(1, |axes| axes.iter().map(|axis| axis.size).product())
    }

    /// Whether blocks have padding along a dimension.
    pub(crate) fn is_uneven(&self, dim: usize) -> bool {
        self.shards(dim).checked_mul(self.local[dim]) != Some(self.global[dim])
    }

    /// The first element of the block of the device at a position in the mesh, in each dimension.
    pub(crate) fn offsets(&self, position: u64) -> Vec<u64> {
        let block = |axes: &Vec<AxisDigit>| {
            axes.iter().fold(0, |block, axis| block * axis.size + position / axis.stride % axis.size)
        };
        self.axes.iter().zip(&self.local).map(|(axes, local)| block(axes) * local).collect()
    }
}
