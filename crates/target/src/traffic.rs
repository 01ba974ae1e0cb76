//! Kinds of collectives.

/// The kind of a collective, with the meaning of its number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The bytes of the result on each device.
    AllGather,
    /// The bytes of the operand on each device.
    ReduceScatter,
    /// The bytes of the operand on each device.
    AllReduce,
    /// The bytes of the operand on each device.
    AllToAll,
    /// The bytes of the operand on each device.
    Permute,
}
