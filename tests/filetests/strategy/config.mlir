// A file of `accelerate config`: settings without effect are warnings, one for each reason; its number of processes
// is the mesh. Unknown keys are warnings, wrong values errors, with their lines.
// RUN: shardc partition %S/full_shard.mlir --config %S/accelerate.yaml -o %t --summary 2>&1 | FileCheck %s
// RUN: shardc fsdp apply %S/full_shard.mlir --config %S/accelerate.yaml --mesh fsdp=2 | FileCheck %s --check-prefix=APPLY
// RUN: not shardc partition %S/full_shard.mlir --config %S/wrong.yaml -o %t 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not shardc partition %S/full_shard.mlir --fsdp full_shard -o %t 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: not shardc partition %S/full_shard.mlir --fsdp full_shard --config %S/accelerate.yaml -o %t 2>&1 | FileCheck %s --check-prefix=BOTH

// CHECK-NOT: compute_environment
// CHECK: warning[SH1213]: settings without effect: fsdp_transformer_layer_cls_to_wrap
// CHECK: accelerate.yaml:14:3
// CHECK: = help: a compiled step has no module classes: layers are found by numbers in parameter names, and by repeated modules
// CHECK-NOT: fsdp_offload_params
// CHECK: collective count in loops runs sent per device
// CHECK: all_gather
// CHECK: reduce_scatter
// CHECK: estimated memory of a device: arguments
// APPLY: sdy.mesh @mesh = <["fsdp"=2]>
// APPLY: mhlo.memory_kind = "pinned_host"
// APPLY: annotate_device_placement
// WRONG: error[SH1211]: fsdp_sharding_strategy must be one of FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2
// WRONG: wrong.yaml:4:27
// WRONG: error[SH1211]: fsdp_offload_params must be true or false
// WRONG: error[SH1211]: num_processes must be a non-negative integer
// WRONG: warning[SH1212]: unknown key 'fsdp_shard_strategy' under fsdp_config
// WRONG: = help: the nearest key is fsdp_sharding_strategy
// NO-MESH: no mesh is given: use --mesh "fsdp=8"
// BOTH: error: the argument '--fsdp <WORDS>' cannot be used with '--config <FILE>'
