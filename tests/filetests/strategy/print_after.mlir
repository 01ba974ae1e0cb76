// The steps that apply a strategy can be printed and timed.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --print-after shard-arguments,shard-update -o %t 2>&1 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --timings - -o %t | FileCheck %s --check-prefix=TIMES
// RUN: not shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --print-after shard-argument -o %t 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: after shard-arguments
// CHECK: %arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1, {}]>}
// CHECK: after shard-update
// TIMES: step milliseconds
// TIMES: inline
// TIMES: shard-arguments
// TIMES: replicate-scalars
// UNKNOWN: unknown step shard-argument; did you mean shard-arguments?

func.func @main(%w: tensor<16x8xf32>, %x: tensor<8x16xf32>) -> (tensor<16x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %dw = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %next = stablehlo.subtract %w, %dw : tensor<16x8xf32>
  return %next, %loss : tensor<16x8xf32>, tensor<f32>
}
