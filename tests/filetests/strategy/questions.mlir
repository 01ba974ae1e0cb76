// A file of `accelerate config`, by its questions; an answer that is none is asked for again, and behind the end of the input
// everything is as in brackets. What is written is read again.
// RUN: shardc fsdp config < %S/answers.txt | FileCheck %s
// RUN: shardc fsdp config -o %t < %S/answers.txt 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: shardc fsdp config --defaults | FileCheck %s --check-prefix=DEFAULT

// CHECK: distributed_type: FSDP
// CHECK-NEXT: fsdp_config:
// CHECK: fsdp_sharding_strategy: HYBRID_SHARD
// CHECK: num_machines: 2
// CHECK-NEXT: num_processes: 16

// ASKED: How is the model split? (FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2) [FULL_SHARD] this answer is invalid

// DEFAULT: fsdp_sharding_strategy: FULL_SHARD
// DEFAULT: mixed_precision: bf16
// DEFAULT: num_processes: 8
