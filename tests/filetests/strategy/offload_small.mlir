// With offload, weights are in host memory. Scales stay on the device: they are less than a thousandth of the state,
// and sending them takes less time than starting a transfer.
// RUN: shardc fsdp apply %s --fsdp "full_shard offload" --mesh fsdp=4 | FileCheck %s
// CHECK: %arg0: tensor<1024x2048xf32> {mhlo.memory_kind = "pinned_host"
// CHECK-SAME: %arg1: tensor<2048xf32> {sdy.sharding
// CHECK-SAME: -> (tensor<1024x2048xf32> {mhlo.memory_kind = "pinned_host"
// CHECK-SAME: tensor<2048xf32> {sdy.sharding
// CHECK: annotate_device_placement(%arg0)
// CHECK-NOT: annotate_device_placement(%arg1)
func.func @main(
    %w: tensor<1024x2048xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"),
    %s: tensor<2048xf32> {tf.aliasing_output = 1 : i32} loc("params['scale']"),
    %x: tensor<8x1024xf32> loc("x")) -> (tensor<1024x2048xf32>, tensor<2048xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %u = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x1024xf32>, tensor<1024x2048xf32>) -> tensor<8x2048xf32>
  %wide = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<2048xf32>) -> tensor<8x2048xf32>
  %y = stablehlo.multiply %u, %wide : tensor<8x2048xf32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x2048xf32>, tensor<f32>) -> tensor<f32>
  %gw = stablehlo.dot_general %x, %wide, contracting_dims = [0] x [0] : (tensor<8x1024xf32>, tensor<8x2048xf32>) -> tensor<1024x2048xf32>
  %gs = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %nw = stablehlo.subtract %w, %gw : tensor<1024x2048xf32>
  %ns = stablehlo.subtract %s, %gs : tensor<2048xf32>
  return %nw, %ns, %loss : tensor<1024x2048xf32>, tensor<2048xf32>, tensor<f32>
}
