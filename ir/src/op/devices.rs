//! Payloads of operations with devices or mesh axes.

use crate::{AxisList, AxisMove, MeshId, ReductionKind, ReplicaGroups, ShardingId};

/// The participants of a collective of the partitioned program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CollectiveSpec {
    /// Groups of device ids, or pairs for a permute; each group has the same size. `-1` pads ragged groups.
    pub groups: ReplicaGroups,
    /// The groups as mesh axes (`#stablehlo.replica_group_mesh_axes<...>`), verbatim, if they were written in this form. Code that changes
    /// the groups must clear this field.
    pub mesh_axes: Option<Box<str>>,
    /// The channel; `None` for cross-replica collectives.
    pub channel: Option<Channel>,
    /// Whether the groups contain global device ids (replica * partitions + partition). All-to-all and permute have no such flag.
    pub use_global_device_ids: bool,
    /// Whether the last operand selects the root device of each group at run time.
    pub has_dynamic_root: bool,
}

impl CollectiveSpec {
    /// Whether there is a channel with a number other than zero: the collective is then among partitions.
    #[must_use]
    pub fn crosses_partitions(&self) -> bool {
        self.channel.is_some_and(|channel| channel.handle > 0)
    }
}

/// A channel: collectives with the same channel id belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The id of the channel.
    pub handle: i64,
    /// 0: invalid, 1: from device to device, 2: from device to host, 3: from host to device.
    pub ty: i64,
}

impl Channel {
    /// A channel with this id and the type "device to device".
    #[must_use]
    pub fn between_devices(handle: i64) -> Self {
        Channel { handle, ty: 1 }
    }
}

/// Attributes of `send` and `recv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferSpec {
    /// The channel, shared with the matching operation.
    pub channel: Channel,
    /// Whether the transfer is to or from the host.
    pub is_host_transfer: Option<bool>,
    /// Pairs of source and target device ids.
    pub source_target_pairs: Option<ReplicaGroups>,
}

/// Name and shardings of a [`OpKind::NamedComputation`](crate::OpKind::NamedComputation): operations that were inlined from a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSpec {
    /// Name of the inlined function.
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
    /// The kind of collective.
    pub kind: MeshCollectiveKind,
    /// Sharding of the result.
    pub out: ShardingId,
}

/// The kind of a [`MeshCollective`]; lists have one entry per dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshCollectiveKind {
    /// Gathers each dimension along the listed axes, which are its most minor ones.
    AllGather(Vec<AxisList>),
    /// Shards each dimension further along the listed axes: each device slices its block, without communication.
    AllSlice(Vec<AxisList>),
    /// Each move removes axes from the minor end of one dimension and appends them to another; no dimension is in two moves.
    AllToAll(Vec<AxisMove>),
    /// Sends shards between devices; the local shape is unchanged.
    CollectivePermute,
    /// Each device receives the parts of its new block from the devices that have them; any dimension may change its sharding.
    Exchange,
    /// Reduces over the listed axes.
    AllReduce(AxisList, ReductionKind),
    /// Reduces over the listed axes, and shards each dimension further along the axes that are listed for it.
    ReduceScatter(Vec<AxisList>, ReductionKind),
    /// Each device's shard along the axes becomes a partial sum, so that an all-reduce can replace an all-gather.
    ShardedToUnreduced(Vec<AxisList>),
    /// A value that is replicated along the axes becomes unreduced.
    ReplicatedToUnreduced(AxisList),
}

/// Shardings and manual axes of a `manual_computation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManualSpec {
    /// Sharding of each operand.
    pub in_shardings: Vec<ShardingId>,
    /// Sharding of each result.
    pub out_shardings: Vec<ShardingId>,
    /// The manual axes of the body.
    pub manual_axes: AxisList,
}
