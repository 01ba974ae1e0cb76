//! What a user may choose, in the words of PyTorch's FSDP.

use shardc_ir::DType;

/// Which of parameters, gradients and optimizer state are split over devices (Rajbhandari et al., "ZeRO", 2020; Zhao et al.,
/// "PyTorch FSDP", 2023).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharding {
    /// ZeRO-3: all three; each unit is gathered where it is used, in the forward and in the backward part.
    #[default]
    FullShard,
    /// ZeRO-2: gradients and optimizer state; parameters are gathered once.
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

/// How parameters are put into units, which are gathered together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// All parameters are one unit.
    #[default]
    Nothing,
    /// Each layer of one of these classes is a unit.
    Layers(Vec<String>),
    /// Each module with as many parameters, those of units inside it not counted, is a unit.
    Size(u64),
    /// Each module is a unit.
    Always,
}

/// When the next unit is gathered in the backward part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// Before the gradients of this unit are computed.
    #[default]
    BackwardPre,
    /// After them.
    BackwardPost,
    /// Where it is used.
    Nothing,
}

/// Which form of state is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateDict {
    /// Each process writes its part.
    #[default]
    Sharded,
    /// One process writes the whole.
    Full,
    /// A file for each process, of its parts alone.
    Local,
}

/// A way to split a training step.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is split.
    pub sharding: Sharding,
    /// How parameters are put into units.
    pub wrap: Wrap,
    /// Whether parameters and optimizer state are in host memory while they are not used.
    pub offload_params: bool,
    /// When the next unit is gathered in the backward part.
    pub backward_prefetch: Prefetch,
    /// Whether the next unit is gathered while one computes in the forward part.
    pub forward_prefetch: bool,
    /// Whether each unit is computed again in the backward part rather than kept.
    pub activation_checkpointing: bool,
    /// Whether a gathered unit is dropped after the forward part; what the sharding means where it is not said.
    pub reshard_after_forward: Option<bool>,
    /// What units are gathered in and computed in; that of the parameters where it is not said.
    pub compute_dtype: Option<DType>,
    /// What buffers are in; as `compute_dtype` where it is not said.
    pub buffer_dtype: Option<DType>,
    /// Whether gradients are summed in f32 whatever is computed in.
    pub fp32_reduce_scatter: bool,
    /// Whether parameters are only ever split along their first dimension.
    pub shard_param_on_dim_0: bool,
    /// How many MiB of gradients are summed together; each by itself at zero.
    pub reduce_scatter_bucket_size_mb: u64,
    /// Which form of state is saved.
    pub state_dict: StateDict,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sharding: Sharding::default(),
            wrap: Wrap::default(),
            offload_params: false,
            backward_prefetch: Prefetch::default(),
            forward_prefetch: false,
            activation_checkpointing: false,
            reshard_after_forward: None,
            compute_dtype: None,
            buffer_dtype: None,
            fp32_reduce_scatter: false,
            shard_param_on_dim_0: false,
            reduce_scatter_bucket_size_mb: 0,
            state_dict: StateDict::default(),
        }
    }
}
