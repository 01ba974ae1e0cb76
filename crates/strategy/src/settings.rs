//! What a user may choose, in the words of PyTorch's FSDP.

/// Which of parameters, gradients and optimizer state are split over devices (Rajbhandari et al., "ZeRO", 2020; Zhao et al.,
/// "PyTorch FSDP", 2023).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharding {
    /// ZeRO-3: all three; each unit is gathered where it is used, in the forward and in the backward part.
    #[default]
    FullShard,
    /// ZeRO-2: gradients and optimizer state; parameters are gathered once, and split between steps.
    ShardGradOp,
    /// ZeRO-1: optimizer state alone.
    Zero1,
    /// DDP: none; gradients are summed.
    NoShard,
    /// ZeRO-3 within a node, a copy in each node.
    HybridShard,
    /// ZeRO-2 within a node, a copy in each node.
    HybridShardZero2,
}

/// A way to split a training step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is split.
    pub sharding: Sharding,
    /// Whether parameters are gathered once more for the backward part; what the sharding means where it is not said.
    pub reshard_after_forward: Option<bool>,
    /// Whether parameters are only ever split along their first dimension.
    pub shard_param_on_dim_0: bool,
    /// Whether parameters and optimizer state are in host memory while they are not used.
    pub offload_params: bool,
}
