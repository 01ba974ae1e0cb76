// The backward pass reads other forms of a weight: cast to a wider type (for a bf16 matmul with an f32 sum), cast to
// a narrower type as in the forward pass, or behind a barrier, as emitted by `jax.checkpoint`. Each is all-gathered
// again from its shard, in the narrower type. The update's own cast reads the shard.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=4 -o - | FileCheck %s --check-prefix=SENT
// RUN: shardc partition %s --fsdp shard_grad_op --mesh fsdp=4 -o - | FileCheck %s --check-prefix=ONCE

// SENT: "stablehlo.all_gather"{{.*}} -> tensor<4x896xbf16>
// SENT: "stablehlo.all_gather"{{.*}} -> tensor<32x16xbf16>
// SENT: "stablehlo.all_gather"{{.*}} -> tensor<64x32xbf16>
// SENT: "stablehlo.all_gather"{{.*}} -> tensor<16x64xbf16>
// SENT-NOT: all_gather
// ONCE: "stablehlo.all_gather"{{.*}} -> tensor<4x896xbf16>
// ONCE-NOT: all_gather
func.func @main(
    %wide: tensor<16x64xbf16> {tf.aliasing_output = 0 : i32} loc("wide"),
    %narrow: tensor<64x32xf32> {tf.aliasing_output = 1 : i32} loc("narrow"),
    %behind: tensor<32x16xf32> {tf.aliasing_output = 2 : i32} loc("behind"),
    %x: tensor<256x16xbf16> loc("x")) -> (tensor<16x64xbf16>, tensor<64x32xf32>, tensor<32x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %x1 = stablehlo.tanh %x : tensor<256x16xbf16>
  %y1 = stablehlo.dot_general %x1, %wide, contracting_dims = [1] x [0] : (tensor<256x16xbf16>, tensor<16x64xbf16>) -> tensor<256x64xbf16>
  %x2 = stablehlo.tanh %y1 : tensor<256x64xbf16>
  %w2 = stablehlo.convert %narrow : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %y2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [0] : (tensor<256x64xbf16>, tensor<64x32xbf16>) -> tensor<256x32xbf16>
  %x3 = stablehlo.tanh %y2 : tensor<256x32xbf16>
  %w3 = stablehlo.convert %behind : (tensor<32x16xf32>) -> tensor<32x16xbf16>
  %y3 = stablehlo.dot_general %x3, %w3, contracting_dims = [1] x [0] : (tensor<256x32xbf16>, tensor<32x16xbf16>) -> tensor<256x16xbf16>
  %y = stablehlo.convert %y3 : (tensor<256x16xbf16>) -> tensor<256x16xf32>
  %square = stablehlo.multiply %y, %y : tensor<256x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x16xf32>, tensor<f32>) -> tensor<f32>

  %dy = stablehlo.add %y, %y : tensor<256x16xf32>
  %dy3 = stablehlo.convert %dy : (tensor<256x16xf32>) -> tensor<256x16xbf16>
  %held:2 = stablehlo.optimization_barrier %behind, %dy3 : tensor<32x16xf32>, tensor<256x16xbf16>
  // CHECK: %[[ITS:.*]]:2 = stablehlo.optimization_barrier %arg2, %[[DY:.*]] : tensor<32x16xf32>
  // CHECK: %[[HELD3:.*]]:2 = stablehlo.optimization_barrier %arg2, %[[ITS]]#1
  // CHECK: %[[PART3:.*]] = stablehlo.convert %[[HELD3]]#0 : (tensor<32x16xf32>) -> tensor<32x16xbf16>
  // CHECK: %[[W3:.*]] = sdy.sharding_constraint %[[PART3]] <@mesh, [{}, {}]> : tensor<32x16xbf16>
  // CHECK: stablehlo.dot_general %[[ITS]]#1, %[[W3]]
  %w3again = stablehlo.convert %held#0 : (tensor<32x16xf32>) -> tensor<32x16xbf16>
  %g3 = stablehlo.dot_general %x3, %held#1, contracting_dims = [0] x [0] : (tensor<256x32xbf16>, tensor<256x16xbf16>) -> tensor<32x16xbf16>
  %dx3 = stablehlo.dot_general %held#1, %w3again, contracting_dims = [1] x [1] : (tensor<256x16xbf16>, tensor<32x16xbf16>) -> tensor<256x32xbf16>
  %dy2 = stablehlo.multiply %dx3, %x3 : tensor<256x32xbf16>
  %w2again = stablehlo.convert %narrow : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %g2 = stablehlo.dot_general %x2, %dy2, contracting_dims = [0] x [0] : (tensor<256x64xbf16>, tensor<256x32xbf16>) -> tensor<64x32xbf16>
  // CHECK: %[[HELD2:.*]]:2 = stablehlo.optimization_barrier %arg1, %[[DY2:.*]] : tensor<64x32xf32>
  // CHECK: %[[PART2:.*]] = stablehlo.convert %[[HELD2]]#0 : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  // CHECK: %[[W2:.*]] = sdy.sharding_constraint %[[PART2]] <@mesh, [{}, {}]> : tensor<64x32xbf16>
  // CHECK: stablehlo.dot_general %[[DY2]], %[[W2]]
  %dx2 = stablehlo.dot_general %dy2, %w2again, contracting_dims = [1] x [1] : (tensor<256x32xbf16>, tensor<64x32xbf16>) -> tensor<256x64xbf16>
  %dy1 = stablehlo.multiply %dx2, %x2 : tensor<256x64xbf16>
  %g1 = stablehlo.dot_general %x1, %dy1, contracting_dims = [0] x [0] : (tensor<256x16xbf16>, tensor<256x64xbf16>) -> tensor<16x64xbf16>
  %dy1wide = stablehlo.convert %dy1 : (tensor<256x64xbf16>) -> tensor<256x64xf32>
  %wide32 = stablehlo.convert %wide : (tensor<16x64xbf16>) -> tensor<16x64xf32>
  // CHECK: %[[HELD1:.*]]:2 = stablehlo.optimization_barrier %arg0, %[[DY1:.*]] : tensor<16x64xbf16>
  // CHECK: %[[PART1:.*]] = sdy.sharding_constraint %[[HELD1]]#0 <@mesh, [{}, {}]> : tensor<16x64xbf16>
  // CHECK: %[[W1:.*]] = stablehlo.convert %[[PART1]] : (tensor<16x64xbf16>) -> tensor<16x64xf32>
  // CHECK: stablehlo.dot_general %[[DY1]], %[[W1]]
  %dx1 = stablehlo.dot_general %dy1wide, %wide32, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<16x64xf32>) -> tensor<256x16xf32>
  %x1wide = stablehlo.convert %x1 : (tensor<256x16xbf16>) -> tensor<256x16xf32>
  %scale = stablehlo.multiply %dx1, %x1wide : tensor<256x16xf32>
  %norm = stablehlo.reduce(%scale init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x16xf32>, tensor<f32>) -> tensor<f32>

  %rate3 = stablehlo.broadcast_in_dim %norm, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
  %g3wide = stablehlo.convert %g3 : (tensor<32x16xbf16>) -> tensor<32x16xf32>
  %s3 = stablehlo.multiply %rate3, %g3wide : tensor<32x16xf32>
  %n3 = stablehlo.subtract %behind, %s3 : tensor<32x16xf32>
  %rate2 = stablehlo.broadcast_in_dim %norm, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
  %g2wide = stablehlo.convert %g2 : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %s2 = stablehlo.multiply %rate2, %g2wide : tensor<64x32xf32>
  %n2 = stablehlo.subtract %narrow, %s2 : tensor<64x32xf32>
  // CHECK: stablehlo.convert %arg0 : (tensor<16x64xbf16>) -> tensor<16x64xf32>
  %own = stablehlo.convert %wide : (tensor<16x64xbf16>) -> tensor<16x64xf32>
  %g1wide = stablehlo.convert %g1 : (tensor<16x64xbf16>) -> tensor<16x64xf32>
  %next = stablehlo.subtract %own, %g1wide : tensor<16x64xf32>
  %n1 = stablehlo.convert %next : (tensor<16x64xf32>) -> tensor<16x64xbf16>
  return %n1, %n2, %n3, %loss : tensor<16x64xbf16>, tensor<64x32xf32>, tensor<32x16xf32>, tensor<f32>
}
