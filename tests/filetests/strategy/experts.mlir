// Expert parallelism: weights with an expert dimension are sharded along it, and never all-gathered along that axis;
// tokens are exchanged between examples and experts.
// RUN: shardc fsdp apply %s --mesh data=2,expert=4 | FileCheck %s
// RUN: shardc partition %s --fsdp full_shard --mesh data=2,expert=4 -o %t --summary 2>&1 | FileCheck %s --check-prefix=SENT

// SENT: all_to_all
// CHECK: %arg0: tensor<4x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"expert"}p1, {}, {"data"}p1]>
// CHECK: %arg1: tensor<8x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "expert"}p0, {}, {}]>
// CHECK: %[[X:.*]] = sdy.sharding_constraint %arg1 <@mesh, [{"data"}p0, {"expert"}p0, {?}]>
// CHECK: sdy.sharding_constraint %arg0 <@mesh, [{"expert"}p1, {}, {}]>
func.func @main(
    %w: tensor<4x16x32xf32> {tf.aliasing_output = 0 : i32} loc("w"),
    %x: tensor<8x4x16xf32> loc("x")) -> (tensor<4x16x32xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, batching_dims = [1] x [0], contracting_dims = [2] x [1] : (tensor<8x4x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
  %q = stablehlo.multiply %y, %y : tensor<4x8x32xf32>
  %per = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<8xf32>
  %loss = stablehlo.reduce(%per init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<4x8x32xf32>
  %g = stablehlo.dot_general %x, %dy, batching_dims = [1] x [0], contracting_dims = [0] x [1] : (tensor<8x4x16xf32>, tensor<4x8x32xf32>) -> tensor<4x16x32xf32>
  %n = stablehlo.subtract %w, %g : tensor<4x16x32xf32>
  return %n, %loss : tensor<4x16x32xf32>, tensor<f32>
}
