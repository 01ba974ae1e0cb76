//! The settings of a strategy, with the names of PyTorch's FSDP.

use shardc_ir::DType;
use shardc_target::{DeviceKind, TargetSpec};

use crate::units::Wrap;

/// Which of parameters, gradients and optimizer state are sharded (Rajbhandari et al., "ZeRO", 2020; Zhao et al., "PyTorch FSDP",
/// 2023).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharding {
    /// ZeRO-3: parameters, gradients and optimizer state; each unit is all-gathered before its use in the forward pass and in the
    /// backward pass.
    #[default]
    FullShard,
    /// ZeRO-2: gradients and optimizer state; parameters are all-gathered once, and sharded between steps.
    ShardGradOp,
    /// ZeRO-1: optimizer state only.
    Zero1,
    /// DDP: none; gradients are all-reduced.
    NoShard,
    /// ZeRO-3 within a node, replicated across nodes.
    HybridShard,
    /// ZeRO-2 within a node, replicated across nodes.
    HybridShardZero2,
}

/// The settings of a strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The sharding strategy.
    pub sharding: Sharding,
    /// Whether parameters are all-gathered again for the backward pass; if unset, `sharding` determines it.
    pub reshard_after_forward: Option<bool>,
    /// Whether parameters are only sharded along their first dimension.
    pub shard_param_on_dim_0: bool,
    /// Whether parameters of stacked layers are sharded along the first dimension of a layer, if that dimension divides evenly. XLA's GPU
    /// compiler gathers along the dimension that is outermost in memory: a stack sharded along another dimension is copied completely
    /// before the loop. The TPU compiler gathers along any dimension, and uses more memory if the first dimension is sharded (LoRA of
    /// Llama-2-70B: 46.8 GiB instead of 44.4).
    pub split_stacks_first: bool,
    /// Whether parameters and optimizer state are in host memory while they are unused.
    pub offload_params: bool,
    /// The policy that divides parameters into units, which are all-gathered together. Parameters outside all units are gathered only
    /// once. If unset, each parameter is a unit, and all units are gathered again.
    pub wrap: Option<Wrap>,
    /// Whether parameters outside all units are also gathered again (`disable_reshard_on_root: false`).
    pub reshard_root: bool,
    /// When the backward pass gathers the parameters of a unit.
    pub backward_prefetch: Prefetch,
    /// The type in which matmuls and convolutions of activations are computed, in a step that otherwise computes in `f32`.
    pub compute_dtype: Option<DType>,
    /// Whether gradients are summed over devices in `f32` although the compute type is narrower.
    pub fp32_reduce_scatter: bool,
    /// Whether activations between layers are sharded along their sequence over the axes of tensor parallelism (Korthikanti et al.,
    /// "Reducing Activation Recomputation", 2022).
    pub sequence_parallel: bool,
    /// Whether units, or layers if no units are set, are rematerialized in the backward pass.
    pub activation_checkpointing: bool,
    /// The maximum size in bytes of combined collectives; if unset, the compiler's default.
    pub bucket_bytes: Option<u64>,
}

impl Settings {
    /// Returns these settings, with device-dependent settings adjusted.
    #[must_use]
    pub fn for_device(self, device: &TargetSpec) -> Settings {
        Settings { split_stacks_first: self.split_stacks_first || device.kind == DeviceKind::Gpu, ..self }
    }
}

/// When the backward pass gathers the parameters of a unit again (`backward_prefetch` of PyTorch's FSDP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// Before a unit's gradients are computed, prefetch the parameters of the unit that the backward pass visits next. One more unit is
    /// in memory, and the all-gather overlaps with the gradient computation (`BACKWARD_PRE`).
    Pre,
    /// Gather the parameters of a unit when the unit's own output cotangent is ready (`BACKWARD_POST`, `NO_PREFETCH`).
    #[default]
    Post,
}
