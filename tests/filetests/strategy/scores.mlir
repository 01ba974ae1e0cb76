// Attention scores have two sequence dimensions. With a context axis they are sharded by queries where they are reduced over keys.
// RUN: shardc fsdp apply %s --fsdp no_shard --mesh data=2,context=2 --role arg3=batch | FileCheck %s

// CHECK: %[[SCORES:.*]] = stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims
// CHECK: %[[BY_QUERY:.*]] = sdy.sharding_constraint %[[SCORES]] <@mesh, [{"data"}p0, {"context"}p0, {?}]>
// CHECK: stablehlo.reduce(%[[BY_QUERY]]
func.func @main(%w: tensor<16x32xf32> {tf.aliasing_output = 0 : i32}, %wk: tensor<16x32xf32> {tf.aliasing_output = 1 : i32},
    %o: tensor<32x16xf32> {tf.aliasing_output = 2 : i32}, %x: tensor<4x8x16xf32>)
    -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %q = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
  %k = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [0] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
  %scores = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x8x32xf32>, tensor<4x8x32xf32>) -> tensor<4x8x8xf32>
  %sums = stablehlo.reduce(%scores init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %loss = stablehlo.reduce(%sums init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  %y = stablehlo.dot_general %q, %o, contracting_dims = [2] x [0] : (tensor<4x8x32xf32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
  %gw = stablehlo.dot_general %x, %q, contracting_dims = [0, 1] x [0, 1] : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
  %gk = stablehlo.dot_general %x, %k, contracting_dims = [0, 1] x [0, 1] : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
  %go = stablehlo.dot_general %q, %y, contracting_dims = [0, 1] x [0, 1] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
  %w1 = stablehlo.subtract %w, %gw : tensor<16x32xf32>
  %k1 = stablehlo.subtract %wk, %gk : tensor<16x32xf32>
  %o1 = stablehlo.subtract %o, %go : tensor<32x16xf32>
  return %w1, %k1, %o1, %loss : tensor<16x32xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<f32>
}
