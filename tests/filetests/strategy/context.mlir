// Axes that shard activations. Context parallelism shards sequences, also if a sequence with one more token is
// uneven. Sequence parallelism shards activations between layers over the axis of tensor parallelism: a layer begins
// with an all-gather and ends with a reduce-scatter.
// RUN: shardc fsdp apply %s --mesh data=2,cp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp "full_shard sequence_parallel" --mesh data=2,model=4 | FileCheck %s --check-prefix=SP
// RUN: not shardc fsdp apply %S/full_shard.mlir --mesh data=2,cp=4 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error[SH1251]: the mesh has an axis for sequences, but no batch argument has a sequence dimension

// CHECK: %arg0: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data", "cp"}p1]>
// CHECK: %arg4: tensor<8x17x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p0, {}, {}]>
// CHECK: %[[X:.*]] = stablehlo.slice %arg4
// CHECK: sdy.sharding_constraint %[[X]] <@mesh, [{"data"}p0, {"cp"}p0, {?}]>
// SP: %arg0: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p1, {"model"}p1]>
// SP: %arg1: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}p1, {"data"}p1]>
// SP: %[[SUM:.*]] = stablehlo.add
// SP: sdy.sharding_constraint %[[SUM]] <@mesh, [{"data"}p0, {"model"}p0, {?}]>
func.func @main(
    %w1: tensor<32x64xf32> {tf.aliasing_output = 0 : i32} loc("w1"),
    %w2: tensor<64x32xf32> {tf.aliasing_output = 1 : i32} loc("w2"),
    %w3: tensor<32x64xf32> {tf.aliasing_output = 2 : i32} loc("w3"),
    %w4: tensor<64x32xf32> {tf.aliasing_output = 3 : i32} loc("w4"),
    %x1: tensor<8x17x32xf32> loc("x")) -> (tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %x = stablehlo.slice %x1 [0:8, 0:16, 0:32] : (tensor<8x17x32xf32>) -> tensor<8x16x32xf32>
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x64xf32>) -> tensor<8x16x64xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [2] x [0] : (tensor<8x16x64xf32>, tensor<64x32xf32>) -> tensor<8x16x32xf32>
  %s = stablehlo.add %x, %y : tensor<8x16x32xf32>
  %k = stablehlo.dot_general %s, %w3, contracting_dims = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x64xf32>) -> tensor<8x16x64xf32>
  %o = stablehlo.dot_general %k, %w4, contracting_dims = [2] x [0] : (tensor<8x16x64xf32>, tensor<64x32xf32>) -> tensor<8x16x32xf32>
  %z = stablehlo.add %s, %o : tensor<8x16x32xf32>
  %q = stablehlo.multiply %z, %z : tensor<8x16x32xf32>
  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<f32>
  %do = stablehlo.add %z, %z : tensor<8x16x32xf32>
  %g4 = stablehlo.dot_general %k, %do, contracting_dims = [0, 1] x [0, 1] : (tensor<8x16x64xf32>, tensor<8x16x32xf32>) -> tensor<64x32xf32>
  %dk = stablehlo.dot_general %do, %w4, contracting_dims = [2] x [1] : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %g3 = stablehlo.dot_general %s, %dk, contracting_dims = [0, 1] x [0, 1] : (tensor<8x16x32xf32>, tensor<8x16x64xf32>) -> tensor<32x64xf32>
  %dn = stablehlo.dot_general %dk, %w3, contracting_dims = [2] x [1] : (tensor<8x16x64xf32>, tensor<32x64xf32>) -> tensor<8x16x32xf32>
  %ds = stablehlo.add %dn, %do : tensor<8x16x32xf32>
  %g2 = stablehlo.dot_general %h, %ds, contracting_dims = [0, 1] x [0, 1] : (tensor<8x16x64xf32>, tensor<8x16x32xf32>) -> tensor<64x32xf32>
  %dh = stablehlo.dot_general %ds, %w2, contracting_dims = [2] x [1] : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %g1 = stablehlo.dot_general %x, %dh, contracting_dims = [0, 1] x [0, 1] : (tensor<8x16x32xf32>, tensor<8x16x64xf32>) -> tensor<32x64xf32>
  %n1 = stablehlo.subtract %w1, %g1 : tensor<32x64xf32>
  %n2 = stablehlo.subtract %w2, %g2 : tensor<64x32xf32>
  %n3 = stablehlo.subtract %w3, %g3 : tensor<32x64xf32>
  %n4 = stablehlo.subtract %w4, %g4 : tensor<64x32xf32>
  return %n1, %n2, %n3, %n4, %loss : tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<f32>
}
