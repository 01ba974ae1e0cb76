// The annotation of a parameter also applies to its momentum, which comes first here: both are sharded along the
// first dimension, although the second one is larger. The mesh need not be repeated.
// RUN: shardc fsdp apply %s --fsdp full_shard | FileCheck %s
// RUN: shardc partition %s --fsdp full_shard -o - | FileCheck %s --check-prefix=DEVICE

// CHECK: %arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1, {}]>
// CHECK-SAME: %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>
// DEVICE: %arg0: tensor<2x16xf32>
// DEVICE-SAME: %arg1: tensor<2x16xf32>
// DEVICE: subtract %arg1, %{{[0-9]+}} : tensor<2x16xf32>
sdy.mesh @mesh = <["fsdp"=4]>
func.func @main(%m: tensor<8x16xf32> {tf.aliasing_output = 1 : i32}, %w: tensor<8x16xf32> {tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %x: tensor<32x8xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>) {
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
  %loss = stablehlo.reduce(%y init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<32x16xf32>
  %g = stablehlo.dot_general %x, %one, contracting_dims = [0] x [0] : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %m1 = stablehlo.add %m, %g : tensor<8x16xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<8x16xf32>
  return %w1, %m1, %loss : tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>
}
