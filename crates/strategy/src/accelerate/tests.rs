use super::*;
use crate::units::Wrap;

/// The configuration for BERT in Accelerate's guide: wrapped by layers, offloaded.
const BERT: &str = "\
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch_policy: BACKWARD_PRE
  fsdp_forward_prefetch: false
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_transformer_layer_cls_to_wrap: BertLayer
  fsdp_use_orig_params: true
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 2
rdzv_backend: static
same_network: true
tpu_env: []
tpu_use_cluster: false
tpu_use_sudo: false
use_cpu: false
";

#[test]
fn accelerate_guide_file_is_supported() {
    let read = Accelerate::parse(BERT).unwrap();
    assert_eq!(read.settings.sharding, Sharding::FullShard);
    assert!(read.settings.offload_params);
    assert_eq!((read.devices, read.mesh().as_deref()), (Some(2), Some("fsdp=2")));
    let warnings: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().all(|text| !text.contains("unknown key")), "{warnings:#?}");
    assert_eq!(
        read.model,
        ModelSettings { compute_dtype: Some(DType::BF16), activation_checkpointing: false }
    );
    let about = |key: &str| warnings.iter().filter(|text| text.contains(key)).count();
    assert_eq!(about("fsdp_transformer_layer_cls_to_wrap"), 1, "{warnings:#?}");
    assert_eq!(
        warnings.len(),
        1,
        "keys that are off or used by the launcher are not reported: {warnings:#?}"
    );
    assert_eq!(read.settings.compute_dtype, Some(DType::BF16));
    assert_eq!((read.settings.wrap, read.settings.backward_prefetch), (Some(Wrap::Layers), Prefetch::Pre));
    for key in ["fsdp_offload_params", "fsdp_auto_wrap_policy", "mixed_precision", "fsdp_backward_prefetch"] {
        assert_eq!(about(key), 0, "{key} has an effect");
    }
}

#[test]
fn keys_without_effect_are_reported() {
    let warnings = |text: &str| -> Vec<String> {
        Accelerate::parse(text).unwrap().warnings.iter().map(|warning| warning.message.clone()).collect()
    };
    let by_layer = "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_min_num_params: 2000";
    assert_eq!(
        warnings(&format!("fsdp_config: {{{by_layer}}}\n")),
        ["settings without effect: fsdp_min_num_params"]
    );
    assert_eq!(
        warnings("distributed_type: 'NO'\nfsdp_config: {fsdp_sharding_strategy: 1}\n"),
        ["settings without effect: fsdp_config"]
    );
    assert_eq!(warnings("mixed_precision: fp8\n"), ["settings without effect: mixed_precision: fp8"]);
    assert_eq!(
        warnings("num_processes: 4\n---\nnum_processes: 2\n"),
        ["settings without effect: further documents after ---"]
    );
    assert!(warnings("distributed_type: 'NO'\nfsdp_config: {}\nmixed_precision: 'no'\n").is_empty());
}

#[test]
fn strategies_are_words_or_numbers() {
    let of = |text: &str| {
        let file = format!("distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: {text}\n");
        Accelerate::parse(&file).map(|read| read.settings.sharding)
    };
    assert_eq!(of("1"), Ok(Sharding::FullShard));
    assert_eq!(of("'2'"), Ok(Sharding::ShardGradOp));
    assert_eq!(of("no_shard"), Ok(Sharding::NoShard));
    assert_eq!(of("HYBRID_SHARD_ZERO2"), Ok(Sharding::HybridShardZero2));
    assert!(of("0").is_err() && of("6").is_err() && of("FULL").is_err());
}

#[test]
fn newer_files_and_those_of_pytorch_xla() {
    let newer =
        "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n";
    assert_eq!(Accelerate::parse(newer).unwrap().settings.reshard_after_forward, Some(false));
    let first = "distributed_type: FSDP\nfsdp_config:\n  fsdp_reshard_after_forward: SHARD_GRAD_OP\n";
    assert_eq!(Accelerate::parse(first).unwrap().settings.sharding, Sharding::ShardGradOp);
    let xla = "distributed_type: XLA\nfsdp_config:\n  xla: true\n  xla_fsdp_settings:\n    compute_dtype: bfloat16\n    \
               shard_param_on_dim_0: true\n  xla_fsdp_grad_ckpt: true\n";
    let read = Accelerate::parse(xla).unwrap();
    assert!(read.settings.shard_param_on_dim_0);
    assert_eq!(read.settings.compute_dtype, Some(DType::BF16));
    let rest = "fsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  min_num_param: 2000\n  xla_fsdp_settings:\n    \
                fp32_reduce_scatter: true\n    reduce_scatter_bucket_size_mb: 25\n    disable_reshard_on_root: false\n";
    let rest = Accelerate::parse(rest).unwrap().settings;
    assert_eq!((rest.wrap, rest.bucket_bytes), (Some(Wrap::Size(2000)), Some(25 << 20)));
    assert!(rest.fp32_reduce_scatter && rest.reshard_root);
    assert_eq!(read.settings.sharding, Sharding::FullShard);
    let hybrid = "distributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\nfsdp_config: {fsdp_sharding_strategy: 4}\n";
    assert_eq!(Accelerate::parse(hybrid).unwrap().mesh().as_deref(), Some("node=2,fsdp=8"));
    let ddp = "distributed_type: MULTI_GPU\nnum_processes: 4\n";
    assert_eq!(Accelerate::parse(ddp).unwrap().settings.sharding, Sharding::NoShard);
}

#[test]
fn unknown_keys_are_warnings_and_wrong_values_errors_at_their_lines() {
    let read =
        Accelerate::parse("fsdp_config:\n  fsdp_shardingstrategy: 1\nfsdp_offload_params: true\n").unwrap();
    let warnings: Vec<_> =
        read.warnings.iter().map(|w| (w.message.clone(), w.hint.clone().unwrap_or_default())).collect();
    assert_eq!(warnings[0].0, "unknown key 'fsdp_shardingstrategy' under fsdp_config");
    assert_eq!(warnings[0].1, "the nearest key is fsdp_sharding_strategy");
    assert_eq!(warnings[1].1, "the key belongs under fsdp_config");

    let text =
        "num_processes: two\nfsdp_config:\n  fsdp_offload_params: maybe\n  fsdp_sharding_strategy: ZERO\n";
    let errors = Accelerate::parse(text).unwrap_err();
    let lines: Vec<usize> = errors.iter().map(|e| text[..e.span.start as usize].lines().count()).collect();
    assert_eq!(lines, [1, 3, 4], "{errors:#?}");
    assert!(errors[2].message.contains("FULL_SHARD, SHARD_GRAD_OP"));
    assert_eq!(Accelerate::parse("a: [").unwrap_err()[0].code, "SH1210");
    assert_eq!(Accelerate::parse("").unwrap(), Accelerate::default());
}

/// Returns a file as `accelerate config` writes it for FSDP version 2, with additional lines.
fn second(keys: &str, sizes: &str) -> String {
    format!(
        "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: FSDP\ndowncast_bf16: 'no'\nfsdp_config:\n  \
         fsdp_version: 2\n{keys}\nnum_machines: 1\nnum_processes: 8\nparallelism_config: {{{sizes}}}\ntpu_env: []\nuse_cpu: false\n"
    )
}

#[test]
fn parallelism_sizes_give_the_mesh() {
    let sizes = |text: &str| {
        let sizes = text
            .split_whitespace()
            .map(|size| format!("parallelism_config_{}", size.replace('=', "_size: ")));
        Accelerate::parse(&second("", &sizes.collect::<Vec<_>>().join(", ")))
    };
    let read = sizes("dp_shard=4 tp=2 cp=1").unwrap();
    assert_eq!((read.mesh().as_deref(), read.settings.sharding), (Some("fsdp=4,tp=2"), Sharding::FullShard));
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    let read = sizes("dp_replicate=2 dp_shard=2 cp=2").unwrap();
    assert_eq!(
        (read.mesh().as_deref(), read.settings.sharding),
        (Some("node=2,fsdp=2,cp=2"), Sharding::HybridShard)
    );
    assert_eq!(sizes("dp_shard=2 ep=4").unwrap().mesh().as_deref(), Some("fsdp=2,ep=4"));
    assert_eq!(sizes("dp_shard=1").unwrap().mesh().as_deref(), Some("fsdp=8"), "no parallelism is requested");
    let error = |text: &str| sizes(text).unwrap_err()[0].message.clone();
    assert_eq!(error("dp_shard=4 tp=3"), "parallelism_config has 4 x 3 = 12 devices, but num_processes is 8");
    assert!(error("dp_replicate=2 tp=4").contains("needs a shard size"));
    assert!(error("cp=2 sp=2 dp_shard=2").contains("cannot be combined"));
    assert!(error("tp=0").contains("must be at least 1"));
}

#[test]
fn version_2_has_booleans() {
    let reshard =
        |value: &str| Accelerate::parse(&second(&format!("  fsdp_reshard_after_forward: {value}"), ""));
    assert_eq!(reshard("false").unwrap().settings.reshard_after_forward, Some(false));
    assert_eq!(reshard("1").unwrap().settings.reshard_after_forward, Some(true), "as Accelerate reads it");
    for value in ["4", "FULL_SHARD", "SHARD_GRAD_OP"] {
        let errors = reshard(value).unwrap_err();
        assert!(errors[0].message.contains("must be true or false"), "{value}: {errors:?}");
    }
    let read = Accelerate::parse(&second("  fsdp_sharding_strategy: SHARD_GRAD_OP", "")).unwrap();
    assert_eq!(read.settings.sharding, Sharding::FullShard);
    assert_eq!(read.ignored().iter().map(|e| e.code).collect::<Vec<_>>(), ["SH1214"]);
}

#[test]
fn hybrid_strategies_on_one_machine() {
    let read = Accelerate::parse(
        "distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}\n",
    );
    assert_eq!(read.unwrap().mesh().as_deref(), Some("node=1,fsdp=8"));
}

#[test]
fn stages_of_deepspeed() {
    let of = |text: &str| {
        Accelerate::parse(&format!(
            "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config: {{{text}}}\n"
        ))
    };
    let read = of("zero_stage: 3, offload_optimizer_device: none, offload_param_device: none, gradient_accumulation_steps: 1").unwrap();
    assert_eq!((read.settings.sharding, read.settings.offload_params), (Sharding::FullShard, false));
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    assert_eq!(of("zero_stage: 1").unwrap().settings.sharding, Sharding::Zero1);
    assert_eq!(of("zero_stage: 2").unwrap().settings.sharding, Sharding::ShardGradOp);
    assert!(of("zero_stage: 4").is_err());
    assert!(
        of("zero_stage: 3, offload_optimizer_device: cpu, offload_param_device: cpu")
            .unwrap()
            .settings
            .offload_params
    );
    assert_eq!(of("zero_stage: 3, offload_optimizer_device: cpu").unwrap().ignored().len(), 1);
    assert_eq!(of("zero_stage: 3, gradient_clipping: 0.5").unwrap().ignored().len(), 1);
}

#[test]
fn files_of_the_trainer() {
    let config = r#"{"fsdp_version": 2, "reshard_after_forward": true, "state_dict_type": "FULL_STATE_DICT",
        "transformer_layer_cls_to_wrap": ["Qwen3DecoderLayer"], "activation_checkpointing": true, "cpu_ram_efficient_loading": true}"#;
    let read = Accelerate::parse(config).unwrap();
    assert_eq!((read.settings.sharding, read.settings.wrap), (Sharding::FullShard, Some(Wrap::Layers)));
    assert!(read.settings.activation_checkpointing && read.ignored().is_empty(), "{:?}", read.warnings);
    let arguments = r#"{"output_dir": "o", "bf16": true, "fsdp": "shard_grad_op offload", "fsdp_config": {"min_num_params": 0}}"#;
    let read = Accelerate::parse(arguments).unwrap();
    assert_eq!(read.settings.reshard_after_forward, Some(false), "version 2 is the default");
    assert_eq!((read.settings.offload_params, read.settings.compute_dtype), (true, Some(DType::BF16)));
    let first = r#"{"fsdp": ["hybrid_shard", "auto_wrap"], "fsdp_config": {"version": 1}}"#;
    assert_eq!(Accelerate::parse(first).unwrap().settings.sharding, Sharding::HybridShard);
    assert!(Accelerate::parse(r#"{"fsdp": "hybrid_shard"}"#).is_err());
    assert!(Accelerate::parse(r#"{"fsdp": "fullshard"}"#).is_err());
    let typing = Accelerate::parse(r#"{"version": 2, "reshard_afterforward": true}"#).unwrap();
    assert_eq!(typing.ignored().len(), 1, "unknown keys are ignored");
}

#[test]
fn files_of_torchtitan() {
    let of =
        |text: &str| Accelerate::parse(&format!("[model]\nname = \"llama3\"\n\n[parallelism]\n{text}\n"));
    let read =
        of("data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 2\ntensor_parallel_degree = 2")
            .unwrap();
    assert_eq!(
        (read.mesh().as_deref(), read.settings.sharding),
        (Some("node=2,fsdp=2,tp=2"), Sharding::HybridShard)
    );
    assert_eq!(read.settings.compute_dtype, Some(DType::BF16));
    let read = of(
        "data_parallel_shard_degree = 8\nexpert_parallel_degree = 4\nfsdp_reshard_after_forward = \"never\"",
    )
    .unwrap();
    assert_eq!(
        (read.mesh().as_deref(), read.settings.reshard_after_forward),
        (Some("fsdp=2,ep=4"), Some(false))
    );
    let read = of("data_parallel_shard_degree = -1\nenable_async_tensor_parallel = false").unwrap();
    assert_eq!((read.mesh(), read.warnings.len()), (None, 0), "all devices");
    assert!(of("pipeline_parallel_degree = 2").is_err() && of("tensor_parallel_degree = 0").is_err());
    assert!(of("data_parallel_shard_degree = 6\nexpert_parallel_degree = 4").is_err());
    assert_eq!(of("tensor_paralel_degree_ = 2").unwrap().ignored().len(), 1);
    assert_eq!(of("tensor_parallel_degree = ").unwrap_err()[0].code, "SH1210");
}
