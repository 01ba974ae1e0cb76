//! All keys that `accelerate config` writes, and the keys of PyTorch/XLA's FSDP, with their effect in shardc.

/// The section of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the top level.
    Top,
    /// In `fsdp_config`.
    Fsdp,
    /// In `xla_fsdp_settings`, which is nested in `fsdp_config`.
    Xla,
    /// In `parallelism_config`.
    Parallelism,
    /// In `deepspeed_config`.
    DeepSpeed,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A boolean: `true`, `false`, `yes` or `no`, also as a string.
    Bool,
    /// A non-negative integer.
    Count,
    /// One of these words, case-insensitive, or its index, counted from one.
    Word(&'static [&'static str]),
    /// Any value.
    Any,
    /// Nested keys.
    Keys,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The key is supported.
    Done,
    /// The key has no effect in a compiler; the text is the reason. The key is reported as a warning if its value turns the setting
    /// on.
    Nothing(&'static str),
    /// The key is handled elsewhere, such as by the launcher, and is not reported.
    Elsewhere,
    /// The key is not supported although the setting would change computation, communication or memory; the text is the reason. The
    /// key is reported as a warning if its value turns the setting on, and as an error with `--strict`.
    Ignored(&'static str),
}

pub(super) struct Key {
    pub(super) place: Place,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) effect: Effect,
}

pub(super) const DISTRIBUTED: &[&str] = &[
    "FSDP",
    "MULTI_GPU",
    "MULTI_CPU",
    "MULTI_NPU",
    "MULTI_XPU",
    "XLA",
    "TPU",
    "NO",
    "DEEPSPEED",
    "MULTI_MLU",
    "MULTI_SDAA",
    "MULTI_MUSA",
    "MULTI_HPU",
    "MULTI_NEURON",
];
pub(super) const STRATEGIES: &[&str] =
    &["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"];
pub(super) const WRAP: &[&str] = &["TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"];
pub(super) const PREFETCH: &[&str] = &["BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"];
const STATE: &[&str] = &["FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"];
const PRECISION: &[&str] = &["no", "fp16", "bf16", "fp8"];
const DTYPES: &[&str] = &["float32", "float16", "bfloat16"];

const LAUNCHER: Effect = Effect::Elsewhere;
const TYPES: Effect = Effect::Ignored("f32 values stay in f32, except operands of matmuls");
const CLASSES: Effect = Effect::Nothing(
    "a compiled step has no module classes: layers are found by numbers in parameter names, and by repeated modules",
);
const FLAT: Effect = Effect::Nothing("each parameter is sharded separately; parameters are not flattened");
const SCHEDULE: Effect = Effect::Nothing(
    "all-gathers of the forward pass are not delayed: the back end's scheduler starts them as early as memory allows",
);
const TOGETHER: Effect = Effect::Nothing("small collectives of one kind are already combined");
const CHECKPOINTS: Effect = Effect::Elsewhere;
const START: Effect = Effect::Elsewhere;
const WRAPPER: Effect = Effect::Elsewhere;
const PROGRAM: Effect = Effect::Ignored("the training step itself must implement this setting");
const HOST: Effect = Effect::Ignored(
    "only offloading to host memory is supported, for parameters and optimizer state together",
);

const fn top(name: &'static str, kind: Kind, effect: Effect) -> Key {
    Key { place: Place::Top, name, kind, effect }
}

const fn fsdp(name: &'static str, kind: Kind, effect: Effect) -> Key {
    Key { place: Place::Fsdp, name, kind, effect }
}

const fn parallel(name: &'static str) -> Key {
    Key { place: Place::Parallelism, name, kind: Kind::Count, effect: Effect::Done }
}

const fn parallel_how(name: &'static str) -> Key {
    Key { place: Place::Parallelism, name, kind: Kind::Any, effect: Effect::Elsewhere }
}

const fn deepspeed(name: &'static str, kind: Kind, effect: Effect) -> Key {
    Key { place: Place::DeepSpeed, name, kind, effect }
}

const fn xla(name: &'static str, kind: Kind, effect: Effect) -> Key {
    Key { place: Place::Xla, name, kind, effect }
}

pub(super) const KEYS: &[Key] = &[
    top("command_file", Kind::Any, LAUNCHER),
    top("commands", Kind::Any, LAUNCHER),
    top("compute_environment", Kind::Any, LAUNCHER),
    top("debug", Kind::Bool, LAUNCHER),
    top("deepspeed_config", Kind::Keys, Effect::Done),
    top("distributed_type", Kind::Word(DISTRIBUTED), Effect::Done),
    top("downcast_bf16", Kind::Bool, TYPES),
    top("dynamo_config", Kind::Any, LAUNCHER),
    top("enable_cpu_affinity", Kind::Bool, LAUNCHER),
    top("fp8_config", Kind::Any, Effect::Ignored("8-bit matmuls are not supported")),
    top("fsdp_config", Kind::Keys, Effect::Done),
    top("gpu_ids", Kind::Any, LAUNCHER),
    top("ipex_config", Kind::Any, LAUNCHER),
    top("machine_rank", Kind::Count, LAUNCHER),
    top("main_process_ip", Kind::Any, LAUNCHER),
    top("main_process_port", Kind::Any, LAUNCHER),
    top("main_training_function", Kind::Any, LAUNCHER),
    top("megatron_lm_config", Kind::Any, Effect::Ignored("Megatron-LM's settings are not supported")),
    top("mpirun_config", Kind::Any, LAUNCHER),
    top("mixed_precision", Kind::Word(PRECISION), Effect::Done),
    top("num_machines", Kind::Count, Effect::Done),
    top("num_processes", Kind::Count, Effect::Done),
    top("parallelism_config", Kind::Keys, Effect::Done),
    top("rdzv_backend", Kind::Any, LAUNCHER),
    top("same_network", Kind::Bool, LAUNCHER),
    top("tpu_env", Kind::Any, LAUNCHER),
    top("tpu_name", Kind::Any, LAUNCHER),
    top("tpu_use_cluster", Kind::Bool, LAUNCHER),
    top("tpu_use_sudo", Kind::Bool, LAUNCHER),
    top("tpu_vm", Kind::Any, LAUNCHER),
    top("tpu_zone", Kind::Any, LAUNCHER),
    top("use_cpu", Kind::Bool, LAUNCHER),
    top("use_xpu", Kind::Bool, LAUNCHER),
    fsdp("fsdp_activation_checkpointing", Kind::Bool, Effect::Done),
    fsdp(
        "fsdp_activation_checkpointing_offload",
        Kind::Bool,
        Effect::Ignored("activations cannot be offloaded to host memory"),
    ),
    fsdp("fsdp_auto_wrap_policy", Kind::Word(WRAP), Effect::Done),
    fsdp("fsdp_backward_prefetch", Kind::Word(PREFETCH), Effect::Done),
    fsdp("fsdp_backward_prefetch_policy", Kind::Word(PREFETCH), Effect::Done),
    fsdp("fsdp_cpu_ram_efficient_loading", Kind::Bool, START),
    fsdp("fsdp_forward_prefetch", Kind::Bool, SCHEDULE),
    fsdp("fsdp_ignored_modules", Kind::Any, Effect::Ignored("all parameters are sharded")),
    fsdp("fsdp_limit_all_gathers", Kind::Bool, SCHEDULE),
    fsdp("fsdp_min_num_params", Kind::Count, Effect::Done),
    fsdp("fsdp_offload_params", Kind::Bool, Effect::Done),
    // In FSDP version 2, `fsdp_reshard_after_forward` is a boolean. In version 1, newer configuration files store the strategy in this
    // key.
    fsdp("fsdp_reshard_after_forward", Kind::Any, Effect::Done),
    fsdp("fsdp_sharding_strategy", Kind::Word(STRATEGIES), Effect::Done),
    fsdp("fsdp_state_dict_type", Kind::Word(STATE), CHECKPOINTS),
    fsdp("fsdp_sync_module_states", Kind::Bool, START),
    fsdp("fsdp_transformer_layer_cls_to_wrap", Kind::Any, CLASSES),
    fsdp("fsdp_use_orig_params", Kind::Bool, WRAPPER),
    fsdp("fsdp_version", Kind::Count, Effect::Done),
    fsdp("min_num_param", Kind::Count, Effect::Done),
    fsdp("xla", Kind::Bool, WRAPPER),
    fsdp("xla_fsdp_grad_ckpt", Kind::Bool, Effect::Done),
    fsdp("xla_fsdp_settings", Kind::Keys, Effect::Done),
    fsdp("xla_fsdp_v2", Kind::Bool, WRAPPER),
    parallel("parallelism_config_cp_size"),
    parallel("parallelism_config_dp_replicate_size"),
    parallel("parallelism_config_dp_shard_size"),
    parallel("parallelism_config_ep_size"),
    parallel("parallelism_config_sp_size"),
    parallel("parallelism_config_tp_size"),
    parallel_how("parallelism_config_cp_backend"),
    parallel_how("parallelism_config_cp_comm_strategy"),
    parallel_how("parallelism_config_sp_attn_implementation"),
    parallel_how("parallelism_config_sp_backend"),
    parallel_how("parallelism_config_sp_seq_length"),
    parallel_how("parallelism_config_sp_seq_length_is_variable"),
    deepspeed(
        "deepspeed_config_file",
        Kind::Any,
        Effect::Ignored("DeepSpeed's own configuration file is not read"),
    ),
    deepspeed("deepspeed_exclusion_filter", Kind::Any, LAUNCHER),
    deepspeed("deepspeed_hostfile", Kind::Any, LAUNCHER),
    deepspeed("deepspeed_inclusion_filter", Kind::Any, LAUNCHER),
    deepspeed("deepspeed_moe_layer_cls_names", Kind::Any, CLASSES),
    deepspeed("deepspeed_multinode_launcher", Kind::Any, LAUNCHER),
    deepspeed("gradient_accumulation_steps", Kind::Any, PROGRAM),
    deepspeed("gradient_clipping", Kind::Any, PROGRAM),
    deepspeed("offload_optimizer_device", Kind::Any, Effect::Done),
    deepspeed("offload_optimizer_nvme_path", Kind::Any, HOST),
    deepspeed("offload_param_device", Kind::Any, Effect::Done),
    deepspeed("offload_param_nvme_path", Kind::Any, HOST),
    deepspeed("zero3_init_flag", Kind::Bool, START),
    deepspeed("zero3_save_16bit_model", Kind::Bool, CHECKPOINTS),
    deepspeed("zero_stage", Kind::Count, Effect::Done),
    xla("auto_wrap_policy", Kind::Any, CLASSES),
    xla("auto_wrapper_callable", Kind::Any, CLASSES),
    xla("buffer_dtype", Kind::Word(DTYPES), TYPES),
    xla("coalesce_all_gather_ops", Kind::Bool, TOGETHER),
    xla("compute_dtype", Kind::Word(DTYPES), Effect::Done),
    xla("disable_reshard_on_root", Kind::Bool, Effect::Done),
    xla("execute_sharding_on_init", Kind::Bool, START),
    xla("flatten_parameters", Kind::Bool, FLAT),
    xla("fp32_reduce_scatter", Kind::Bool, Effect::Done),
    xla("mark_step_on_finalization", Kind::Bool, WRAPPER),
    xla("optimization_barrier_in_backward", Kind::Bool, SCHEDULE),
    xla("optimization_barrier_in_forward", Kind::Bool, SCHEDULE),
    xla("param_init_fn", Kind::Any, START),
    xla("pin_layout_in_collective_ops", Kind::Bool, SCHEDULE),
    xla("reduce_scatter_bucket_size_mb", Kind::Count, Effect::Done),
    xla("reshard_after_forward", Kind::Bool, Effect::Done),
    xla("shard_param_on_dim_0", Kind::Bool, Effect::Done),
    xla("sharding_groups", Kind::Any, LAUNCHER),
    xla("sharding_rank", Kind::Any, LAUNCHER),
    xla("sharding_world_size", Kind::Any, LAUNCHER),
    xla("sync_on_finalization", Kind::Bool, WRAPPER),
    xla("_shard_size_multiple", Kind::Count, FLAT),
    xla("_use_xla_patched_linear", Kind::Bool, WRAPPER),
];
