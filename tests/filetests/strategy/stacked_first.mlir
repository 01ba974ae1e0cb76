// A stack of layers is sharded along the largest even dimension of a layer; along the first one with
// `--shard-param-on-dim-0`, and for GPUs, whose compiler would otherwise copy the whole stack.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --shard-param-on-dim-0 | FileCheck %s --check-prefix=FIRST
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=4 --target h100 -o - | FileCheck %s --check-prefix=GPU

// CHECK: %arg0: tensor<3x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"fsdp"}p1]>
// FIRST: %arg0: tensor<3x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1, {}]>
// GPU: %arg0: tensor<3x4x32xf32>
// The first dimension of the other one is uneven.
// CHECK: %arg1: tensor<3x6x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"fsdp"}p1]>
// FIRST: %arg1: tensor<3x6x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1, {}]>
// GPU-SAME: %arg1: tensor<3x6x8xf32>
func.func @main(%w: tensor<3x16x32xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<3x6x32xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<8x16xf32>)
    -> (tensor<3x16x32xf32>, tensor<3x6x32xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %l:4 = stablehlo.while(%i = %zero, %ws = %w, %vs = %v, %h = %x) : tensor<i32>, tensor<3x16x32xf32>, tensor<3x6x32xf32>, tensor<8x16xf32>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<3x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %wi = stablehlo.reshape %row : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %other = stablehlo.dynamic_slice %vs, %i, %zero, %zero, sizes = [1, 6, 32] : (tensor<3x6x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x6x32xf32>
    %vi = stablehlo.reshape %other : (tensor<1x6x32xf32>) -> tensor<6x32xf32>
    %a = stablehlo.dot_general %h, %wi, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %b = stablehlo.dot_general %a, %vi, contracting_dims = [1] x [1] : (tensor<8x32xf32>, tensor<6x32xf32>) -> tensor<8x6xf32>
    %c = stablehlo.dot_general %b, %vi, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x32xf32>) -> tensor<8x32xf32>
    %d = stablehlo.dot_general %c, %wi, contracting_dims = [1] x [1] : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %ws, %vs, %d : tensor<i32>, tensor<3x16x32xf32>, tensor<3x6x32xf32>, tensor<8x16xf32>
  }
  %loss = stablehlo.reduce(%l#3 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %dw = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<3x16x32xf32>
  %dv = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<3x6x32xf32>
  %w1 = stablehlo.subtract %w, %dw : tensor<3x16x32xf32>
  %v1 = stablehlo.subtract %v, %dv : tensor<3x6x32xf32>
  return %w1, %v1, %loss : tensor<3x16x32xf32>, tensor<3x6x32xf32>, tensor<f32>
}
