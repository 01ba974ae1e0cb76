// The questions of `accelerate config`; invalid answers are asked again, and after the end of the input the defaults
// in brackets apply. The written file is read again.
// RUN: shardc fsdp config < %S/answers.txt | FileCheck %s
// RUN: shardc fsdp config -o %t < %S/answers.txt 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: shardc fsdp config --defaults | FileCheck %s --check-prefix=DEFAULT

// CHECK: distributed_type: FSDP
// CHECK-NEXT: fsdp_config:
// CHECK: fsdp_sharding_strategy: HYBRID_SHARD
// CHECK: num_machines: 2
// CHECK-NEXT: num_processes: 16

// ASKED: How is the model sharded? (FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2) [FULL_SHARD] 'all of it' is not a valid answer

// DEFAULT: fsdp_sharding_strategy: FULL_SHARD
// DEFAULT: mixed_precision: bf16
// DEFAULT: num_processes: 8
