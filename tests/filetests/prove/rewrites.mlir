// Strategies, checkpointing and offloading leave the function of a step the same. A changed constant or operation is refuted.
// RUN: shardc fsdp apply %S/../strategy/full_shard.mlir --fsdp "full_shard auto_wrap bf16" --mesh fsdp=4 -o %t.fsdp.mlir
// RUN: shardc prove %S/../strategy/full_shard.mlir %t.fsdp.mlir | FileCheck %s
// RUN: sed 's/stablehlo.subtract/stablehlo.add/' %t.fsdp.mlir > %t.fsdp.wrong.mlir
// RUN: not shardc prove %S/../strategy/full_shard.mlir %t.fsdp.wrong.mlir | FileCheck %s --check-prefix WRONG
// RUN: shardc fsdp apply %S/../strategy/offload_small.mlir --fsdp "full_shard offload" --mesh fsdp=4 -o %t.host.mlir
// RUN: grep annotate_device_placement %t.host.mlir
// RUN: shardc prove %S/../strategy/offload_small.mlir %t.host.mlir | FileCheck %s
// RUN: sed 's/stablehlo.subtract/stablehlo.add/' %t.host.mlir > %t.host.wrong.mlir
// RUN: not shardc prove %S/../strategy/offload_small.mlir %t.host.wrong.mlir | FileCheck %s --check-prefix WRONG
// RUN: shardc grad %s --wrt w,v --value -o %t.grad.mlir
// RUN: shardc grad %s --wrt w,v --value --checkpoint nothing -o %t.again.mlir
// RUN: grep optimization_barrier %t.again.mlir
// RUN: shardc prove %t.grad.mlir %t.again.mlir | FileCheck %s
// RUN: sed 's/barrier %arg0, %arg1, %arg2/barrier %arg0, %arg2, %arg1/' %t.again.mlir > %t.again.wrong.mlir
// RUN: not shardc prove %t.grad.mlir %t.again.wrong.mlir | FileCheck %s --check-prefix WRONG
// RUN: shardc grad %s --wrt w,v --value --checkpoint dots --offload dots -o %t.moved.mlir
// RUN: grep annotate_device_placement %t.moved.mlir
// RUN: shardc prove %t.grad.mlir %t.moved.mlir | FileCheck %s
// RUN: sed 's/stablehlo.subtract/stablehlo.add/' %t.moved.mlir > %t.moved.wrong.mlir
// RUN: not shardc prove %t.grad.mlir %t.moved.wrong.mlir | FileCheck %s --check-prefix WRONG

// CHECK: proven: in exact arithmetic, for all inputs

// WRONG: refuted: results differ for random inputs
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.tanh %0 : tensor<8x4xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.exponential %2 : tensor<8x4xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}
