//! What a user may choose, in the words of PyTorch's FSDP.

use shardc_ir::DType;
use shardc_passes::cost::memory::Machine;

use crate::units::Wrap;

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
    /// Whether parameters of stacked layers are split along the first dimension of a layer, where that divides them evenly. XLA's
    /// compiler for GPUs gathers along the dimension that is outermost in memory: a stack of which another one is split is copied as
    /// a whole before the loop. That for TPUs gathers along any, and keeps more where it is the first (LoRA of Llama-2-70B: 46.8 GiB,
    /// else 44.4).
    pub split_stacks_first: bool,
    /// Whether parameters and optimizer state are in host memory while they are not used.
    pub offload_params: bool,
    /// Which parameters are gathered again together, and which once; each by itself and all again where it is not said.
    pub wrap: Option<Wrap>,
    /// Whether what no unit has is gathered again, too (`disable_reshard_on_root: false`).
    pub reshard_root: bool,
    /// When the backward part gathers the parameters of a unit.
    pub backward_prefetch: Prefetch,
    /// The type that activations and the weights they meet are computed in, where a step computes in `f32`.
    pub compute_dtype: Option<DType>,
    /// Whether gradients are summed over devices in `f32` where a narrower type is computed in.
    pub fp32_reduce_scatter: bool,
    /// Whether activations between layers are split along their sequence over the axes of tensor parallelism (Korthikanti et al.,
    /// "Reducing Activation Recomputation", 2022).
    pub sequence_parallel: bool,
    /// Whether units, or layers where nothing is said of units, are computed again for the backward part rather than kept.
    pub activation_checkpointing: bool,
    /// Up to how many bytes collectives of one kind travel together; what the compiler is set to where it is not said.
    pub bucket_bytes: Option<u64>,
}

impl Settings {
    /// These, with what a machine is better off with.
    #[must_use]
    pub fn for_machine(self, machine: Machine) -> Settings {
        Settings { split_stacks_first: self.split_stacks_first || machine == Machine::Gpu, ..self }
    }
}

/// When the backward part gathers the parameters of a unit again (`backward_prefetch` of PyTorch's FSDP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// While the unit behind it computes its gradients: one more unit is on the devices, and the gather is hidden (`BACKWARD_PRE`).
    Pre,
    /// When its gradients are asked for (`BACKWARD_POST`, `NO_PREFETCH`).
    #[default]
    Post,
}
