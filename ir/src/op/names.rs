//! Names of operations, and what their kind alone tells.

use std::borrow::Cow;

use super::{CollectiveSpec, OpKind};

impl OpKind {
    /// Full name, with dialect. A [`OpKind::Return`] is named for a StableHLO region.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            OpKind::Opaque(op) => &op.name,
            kind => kind.def().name,
        }
    }

    /// The name for messages: that of what is called or stands for something else too, where one name is that of many
    /// operations (`stablehlo.custom_call @my_attention`).
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        match self {
            OpKind::CustomCall(spec) => format!("{} @{}", self.name(), spec.target).into(),
            OpKind::Call { callee } => format!("{} @{callee}", self.name()).into(),
            OpKind::Composite(spec) => format!("{} \"{}\"", self.name(), spec.name).into(),
            _ => self.name().into(),
        }
    }

    /// The groups of a collective of the partitioned program.
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

    /// The same, to change it.
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

    /// An all-reduce or reduce-scatter sums or otherwise combines in region 0, the element type given.
    #[must_use]
    pub fn combines(&self) -> bool {
        matches!(self, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. })
    }
}
