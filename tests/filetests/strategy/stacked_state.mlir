// Momentum and accumulated gradients of a stack of layers are sharded along the stack's dimension, although no loop
// slices them: otherwise the update would exchange whole stacks. The layer dimension is the largest.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=4 -o - | FileCheck %s --check-prefix=DEVICE
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --shard-param-on-dim-0 | FileCheck %s --check-prefix=DIM0
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=4 --target h100 -o - | FileCheck %s --check-prefix=FIRST
// RUN: shardc partition %s --fsdp zero1 --mesh fsdp=4 --target h100 -o - | FileCheck %s --check-prefix=ZERO1

// CHECK: %arg0: tensor<40x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"fsdp"}p1]>
// CHECK-SAME: %arg1: tensor<40x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"fsdp"}p1]>
// DEVICE: %arg0: tensor<40x8x4xf32>
// DEVICE-SAME: %arg1: tensor<40x8x4xf32>
// DEVICE-NOT: all_to_all
// DIM0: %arg0: tensor<40x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1, {}]>
// DIM0-SAME: %arg1: tensor<40x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1, {}]>
// FIRST: %arg0: tensor<40x2x16xf32>
// FIRST-SAME: %arg1: tensor<40x2x16xf32>
// FIRST-NOT: all_to_all
// ZERO1: %arg0: tensor<40x8x16xf32>
// ZERO1-SAME: %arg1: tensor<40x2x16xf32>
func.func @main(%w: tensor<40x8x16xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<40x8x16xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<8x16xf32>)
    -> (tensor<40x8x16xf32>, tensor<40x8x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %layers = stablehlo.constant dense<40> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %l:3 = stablehlo.while(%i = %zero, %ws = %w, %h = %x) : tensor<i32>, tensor<40x8x16xf32>, tensor<8x16xf32>
  cond {
    %t = stablehlo.compare LT, %i, %layers : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 8, 16] : (tensor<40x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
    %wi = stablehlo.reshape %row : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    %a = stablehlo.dot_general %h, %wi, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
    %b = stablehlo.dot_general %a, %wi, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %ws, %b : tensor<i32>, tensor<40x8x16xf32>, tensor<8x16xf32>
  }
  %loss = stablehlo.reduce(%l#2 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<40x8x16xf32>
  %m1 = stablehlo.add %m, %g : tensor<40x8x16xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<40x8x16xf32>
  return %w1, %m1, %loss : tensor<40x8x16xf32>, tensor<40x8x16xf32>, tensor<f32>
}
