//! Names of operations, and access to the shardings and replica groups in their attributes.

use std::borrow::Cow;

use super::{CollectiveSpec, OpKind};
use crate::ShardingId;

impl OpKind {
    /// Full name, with dialect. For [`OpKind::Return`], this is the name in a StableHLO region.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            OpKind::Opaque(op) => &op.name,
            kind => kind.def().name,
        }
    }

    /// Returns the name for messages. For an operation such as `custom_call`, the name includes the callee:
    /// `stablehlo.custom_call @my_attention`.
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        match self {
            OpKind::CustomCall(spec) => match spec.kept_callee() {
                Some(callee) => format!("func.call @{callee}").into(),
                None => format!("{} @{}", self.name(), spec.target).into(),
            },
            OpKind::Call { callee } => format!("{} @{callee}", self.name()).into(),
            OpKind::Composite(spec) => format!("{} \"{}\"", self.name(), spec.name).into(),
            _ => self.name().into(),
        }
    }

    /// Calls `change` for each sharding handle in the operation's attributes; `change` may replace the handle.
    pub fn each_sharding_mut(&mut self, change: &mut dyn FnMut(&mut ShardingId)) {
        match self {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) | OpKind::DataFlowEdge(Some(id)) => {
                change(id)
            }
            OpKind::MeshCollective(collective) => change(&mut collective.out),
            OpKind::ManualComputation(spec) => {
                spec.in_shardings.iter_mut().chain(&mut spec.out_shardings).for_each(change);
            }
            OpKind::NamedComputation(spec) => {
                let lists = [&mut spec.in_shardings, &mut spec.out_shardings];
                lists.into_iter().flatten().flatten().for_each(change);
            }
            _ => {}
        }
    }

    /// Returns the replica groups and channel of a collective of the partitioned program; `None` for other operations.
    #[must_use]
    pub fn collective(&self) -> Option<&CollectiveSpec> {
        match self {
            OpKind::AllReduce(spec) | OpKind::CollectivePermute(spec) | OpKind::CollectiveBroadcast(spec) => {
                Some(spec)
            }
            OpKind::CollectiveReduce(spec) | OpKind::CrossReplicaSum(spec) => Some(spec),
            OpKind::AllGather { spec, .. }
            | OpKind::ReduceScatter { spec, .. }
            | OpKind::AllToAll { spec, .. } => Some(spec),
            _ => None,
        }
    }

    /// Like [`OpKind::collective`], but mutable.
    pub fn collective_mut(&mut self) -> Option<&mut CollectiveSpec> {
        match self {
            OpKind::AllReduce(spec) | OpKind::CollectivePermute(spec) | OpKind::CollectiveBroadcast(spec) => {
                Some(spec)
            }
            OpKind::CollectiveReduce(spec) | OpKind::CrossReplicaSum(spec) => Some(spec),
            OpKind::AllGather { spec, .. }
            | OpKind::ReduceScatter { spec, .. }
            | OpKind::AllToAll { spec, .. } => Some(spec),
            _ => None,
        }
    }

    /// Whether this is an all-reduce or reduce-scatter, which combine values with region 0.
    #[must_use]
    pub fn combines(&self) -> bool {
        matches!(self, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. })
    }
}
