//! Attributes of operations that name devices or axes of a mesh.

use crate::{AxisList, AxisMove, MeshId, ReductionKind, ReplicaGroups, ShardingId};

/// Who takes part in a collective of the partitioned program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CollectiveSpec {
    /// Groups of device ids, or pairs for a permute; each group has the same size. `-1` fills ragged input.
    pub groups: ReplicaGroups,
    /// The groups as axes of a mesh (`#stablehlo.replica_group_mesh_axes<...>`), verbatim, where they were written
    /// so. Who changes the groups has to clear this.
    pub mesh_axes: Option<Box<str>>,
    /// The channel; `None` for cross-replica collectives.
    pub channel: Option<Channel>,
    /// Whether the groups name global device ids (replica * partitions + partition). All-to-all and permute have no
    /// such ids.
    pub use_global_device_ids: bool,
    /// Whether the last operand says which device of a group is its root.
    pub has_dynamic_root: bool,
}

impl CollectiveSpec {
    /// Whether there is a channel, other than number zero: the collective is then among partitions.
    #[must_use]
    pub fn crosses_partitions(&self) -> bool {
        self.channel.is_some_and(|channel| channel.handle > 0)
    }
}

/// A channel: collectives of one number belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Its number.
    pub handle: i64,
    /// 0: invalid, 1: from device to device, 2: from device to host, 3: from host to device.
    pub ty: i64,
}

impl Channel {
    /// A channel between devices.
    #[must_use]
    pub fn between_devices(handle: i64) -> Self {
        Channel { handle, ty: 1 }
    }
}

/// Attributes of `send` and `recv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferSpec {
    /// The channel, which its counterpart has too.
    pub channel: Channel,
    /// Whether the host is at the other end.
    pub is_host_transfer: Option<bool>,
    /// Device numbers in pairs of source and target.
    pub source_target_pairs: Option<ReplicaGroups>,
}

/// Name and shardings of a `named_computation`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSpec {
    /// Name of the function that it was.
    pub name: Box<str>,
    /// Sharding of each operand.
    pub in_shardings: Option<Vec<ShardingId>>,
    /// Sharding of each result.
    pub out_shardings: Option<Vec<ShardingId>>,
}

/// A collective between two shardings of one global value (Shardy's `sdy.all_gather`, ...).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshCollective {
    /// The mesh that the axes belong to.
    pub mesh: MeshId,
    /// What is exchanged.
    pub kind: MeshCollectiveKind,
    /// Sharding of the result.
    pub out: ShardingId,
}

/// What a [`MeshCollective`] does; lists have one entry per dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshCollectiveKind {
    /// Gathers minor axes of each dimension.
    AllGather(Vec<AxisList>),
    /// Keeps a part along more axes of each dimension; no communication.
    AllSlice(Vec<AxisList>),
    /// Moves axes from the end of one dimension to the end of another; no dimension takes part in two moves.
    AllToAll(Vec<AxisMove>),
    /// Device to device: the local shape stays.
    CollectivePermute,
    /// Each device takes the pieces of its new block from devices that have them; any dimension may be split otherwise than
    /// before.
    Exchange,
    /// Completes a reduction over `axes`.
    AllReduce(AxisList, ReductionKind),
    /// Completes a reduction over the axes and splits each dimension along its entry.
    ReduceScatter(Vec<AxisList>, ReductionKind),
    /// Each device's part along the axes becomes its addend of the whole: what an all-reduce completes, where an
    /// all-gather would have put the parts together.
    ShardedToUnreduced(Vec<AxisList>),
    /// What devices hold alike along the axes becomes pending.
    ReplicatedToUnreduced(AxisList),
}

/// Shardings and manual axes of a `manual_computation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManualSpec {
    /// Sharding of each operand.
    pub in_shardings: Vec<ShardingId>,
    /// Sharding of each result.
    pub out_shardings: Vec<ShardingId>,
    /// Axes that the body sees as devices.
    pub manual_axes: AxisList,
}
