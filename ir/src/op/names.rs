//! Names of operations, and what their kind alone tells.

use std::borrow::Cow;

use super::{BatchNormKind, BroadcastingOp, CollectiveSpec, DynamicOp, OpKind};

impl OpKind {
    /// Full name, with dialect. A [`OpKind::Return`] is named for a StableHLO region.
    #[must_use]
    pub fn name(&self) -> &str {
        use OpKind as K;
        match self {
            K::Unary(op) => op.name(),
            K::Binary(op) => op.name(),
            K::Compare(..) => "stablehlo.compare",
            K::Select => "stablehlo.select",
            K::Clamp => "stablehlo.clamp",
            K::Convert => "stablehlo.convert",
            K::BitcastConvert => "stablehlo.bitcast_convert",
            K::ReducePrecision { .. } => "stablehlo.reduce_precision",
            K::Constant(_) => "stablehlo.constant",
            K::Iota { .. } => "stablehlo.iota",
            K::BroadcastInDim { .. } => "stablehlo.broadcast_in_dim",
            K::Reshape => "stablehlo.reshape",
            K::Transpose { .. } => "stablehlo.transpose",
            K::Reverse { .. } => "stablehlo.reverse",
            K::Slice(_) => "stablehlo.slice",
            K::DynamicSlice { .. } => "stablehlo.dynamic_slice",
            K::DynamicUpdateSlice => "stablehlo.dynamic_update_slice",
            K::Concatenate { .. } => "stablehlo.concatenate",
            K::Pad(_) => "stablehlo.pad",
            K::DotGeneral(_) => "stablehlo.dot_general",
            K::Convolution(_) => "stablehlo.convolution",
            K::Reduce { .. } => "stablehlo.reduce",
            K::ReduceWindow(_) => "stablehlo.reduce_window",
            K::SelectAndScatter(_) => "stablehlo.select_and_scatter",
            K::Sort { .. } => "stablehlo.sort",
            K::Gather(_) => "stablehlo.gather",
            K::Scatter(_) => "stablehlo.scatter",
            K::RngBitGenerator { .. } => "stablehlo.rng_bit_generator",
            K::Fft { .. } => "stablehlo.fft",
            K::Cholesky { .. } => "stablehlo.cholesky",
            K::TriangularSolve(_) => "stablehlo.triangular_solve",
            K::While => "stablehlo.while",
            K::Case => "stablehlo.case",
            K::If => "stablehlo.if",
            K::OptimizationBarrier => "stablehlo.optimization_barrier",
            K::Call { .. } => "func.call",
            K::Return => "stablehlo.return",
            K::CustomCall(_) => "stablehlo.custom_call",
            K::Tuple => "stablehlo.tuple",
            K::GetTupleElement { .. } => "stablehlo.get_tuple_element",
            K::AfterAll => "stablehlo.after_all",
            K::AllReduce(_) => "stablehlo.all_reduce",
            K::AllGather { .. } => "stablehlo.all_gather",
            K::ReduceScatter { .. } => "stablehlo.reduce_scatter",
            K::AllToAll { .. } => "stablehlo.all_to_all",
            K::CollectivePermute(_) => "stablehlo.collective_permute",
            K::CollectiveBroadcast(_) => "stablehlo.collective_broadcast",
            K::PartitionId => "stablehlo.partition_id",
            K::ReplicaId => "stablehlo.replica_id",
            K::BatchNorm(BatchNormKind::Training, _) => "stablehlo.batch_norm_training",
            K::BatchNorm(BatchNormKind::Inference, _) => "stablehlo.batch_norm_inference",
            K::BatchNorm(BatchNormKind::Grad, _) => "stablehlo.batch_norm_grad",
            K::Map { .. } => "stablehlo.map",
            K::Rng(_) => "stablehlo.rng",
            K::Dynamic(DynamicOp::Reshape) => "stablehlo.dynamic_reshape",
            K::Dynamic(DynamicOp::BroadcastInDim(_)) => "stablehlo.dynamic_broadcast_in_dim",
            K::Dynamic(DynamicOp::Iota { .. }) => "stablehlo.dynamic_iota",
            K::Dynamic(DynamicOp::Pad) => "stablehlo.dynamic_pad",
            K::Dynamic(DynamicOp::RealSlice) => "stablehlo.real_dynamic_slice",
            K::Dynamic(DynamicOp::Gather(_)) => "stablehlo.dynamic_gather",
            K::Dynamic(DynamicOp::Convolution(_)) => "stablehlo.dynamic_conv",
            K::GetDimensionSize { .. } => "stablehlo.get_dimension_size",
            K::SetDimensionSize { .. } => "stablehlo.set_dimension_size",
            K::Broadcast { .. } => "stablehlo.broadcast",
            K::Einsum { .. } => "stablehlo.einsum",
            K::UnaryEinsum { .. } => "stablehlo.unary_einsum",
            K::TorchIndexSelect { .. } => "stablehlo.torch_index_select",
            K::UniformQuantize => "stablehlo.uniform_quantize",
            K::UniformDequantize => "stablehlo.uniform_dequantize",
            K::Composite(_) => "stablehlo.composite",
            K::AsyncStart => "stablehlo.async_start",
            K::AsyncDone => "stablehlo.async_done",
            K::CreateToken => "stablehlo.create_token",
            K::Infeed(_) => "stablehlo.infeed",
            K::Outfeed { .. } => "stablehlo.outfeed",
            K::Send(_) => "stablehlo.send",
            K::Recv(_) => "stablehlo.recv",
            K::CollectiveReduce(_) => "stablehlo.collective_reduce",
            K::CrossReplicaSum(_) => "stablehlo.cross-replica-sum",
            K::Broadcasting(spec) => match spec.op {
                BroadcastingOp::Binary(op) => op.name(),
                BroadcastingOp::Compare(..) => "chlo.broadcast_compare",
                BroadcastingOp::Select => "chlo.broadcast_select",
            },
            K::ConstantLike(_) => "chlo.constant_like",
            K::TopK { .. } => "chlo.top_k",
            K::RaggedDot(_) => "chlo.ragged_dot",
            K::Scan(_) => "chlo.scan",
            K::ShardingConstraint(_) => "sdy.sharding_constraint",
            K::Reshard(_) => "sdy.reshard",
            K::MeshCollective(c) => c.kind.name(),
            K::ManualComputation(_) => "sdy.manual_computation",
            K::PropagationBarrier { .. } => "sdy.propagation_barrier",
            K::ShardingGroup { .. } => "sdy.sharding_group",
            K::DataFlowEdge(_) => "sdy.data_flow_edge",
            K::FuncDataFlowEdge => "sdy.func_data_flow_edge",
            K::NamedComputation(_) => "sdy.named_computation",
            K::Opaque(op) => &op.name,
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
