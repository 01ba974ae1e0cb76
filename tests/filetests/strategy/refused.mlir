// Inputs that a strategy rejects: unknown words, an unsuitable mesh, unknown names and roles, a program without a loss.
// RUN: not shardc fsdp apply %s --fsdp "ful_shard no_shard zero1" --mesh fsdp=4 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not shardc fsdp apply %S/full_shard.mlir --fsdp hybrid_shard --mesh fsdp=4 2>&1 | FileCheck %s --check-prefix=HYBRID
// RUN: not shardc fsdp apply %S/full_shard.mlir --mesh data=2,context=2 2>&1 | FileCheck %s --check-prefix=CONTEXT
// RUN: shardc fsdp apply %S/full_shard.mlir --mesh data=4,context=1 | FileCheck %s --check-prefix=ONE
// RUN: not shardc fsdp apply %S/full_shard.mlir --mesh fsdp 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not shardc fsdp roles %s --role arg0=wieght --role nothing=batch --role arg1 --loss arg0 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: not shardc fsdp roles %s 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: shardc fsdp estimate --parameters 7.5e9 --devices 64 | FileCheck %s --check-prefix=ZERO

// WORDS: error[SH1201]: unknown setting 'ful_shard'
// WORDS: did you mean full_shard?
// WORDS: error[SH1201]: 'zero1' conflicts with 'no_shard': only one strategy can be set
// CONTEXT: error[SH1251]: the mesh has an axis for sequences, but no batch argument has a sequence dimension
// ONE: %arg3: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p0, {}]>}
// HYBRID: error[SH1251]: a hybrid strategy needs two axes of data parallelism
// MESH: error[SH0306]
// SAID: error[SH1202]: 'wieght' is not a role
// SAID: error[SH0333]
// SAID: error[SH1202]: 'arg1' is not of the form ARG=ROLE
// SAID: error[SH1202]: the loss must be a result, but arg0 is argument 0
// LOSS: error[SH1250]: no result of the program is a floating-point scalar that depends on its arguments
// LOSS: = help: a training step returns its loss

// The example of the ZeRO paper.
// ZERO: no_shard {{.*}} 120.0 GB
// ZERO: zero1 {{.*}} 31.4 GB
// ZERO: shard_grad_op {{.*}} 16.6 GB
// ZERO: full_shard {{.*}} 1.9 GB
func.func @main(%w: tensor<16x8xf32>, %x: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
