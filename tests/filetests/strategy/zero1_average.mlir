// ZeRO-1: a parameter is not all-gathered again for its moving average. The average follows parameters: it is optimizer state,
// although the loss depends on it, as with a target network. It is replicated, since the loss would all-gather it in each step.
// RUN: shardc fsdp roles %s | FileCheck %s --check-prefix=ROLES
// RUN: shardc partition %s --fsdp zero1 --mesh fsdp=4 -o - | FileCheck %s
// RUN: shardc verify %s --fsdp zero1 --mesh fsdp=4

// ROLES: arg0 w tensor<16x16xf32> parameter res0
// ROLES: arg1 target tensor<16x16xf32> optimizer_state res1 arg0

// CHECK: func.func @main(%arg0: tensor<16x16xf32>{{.*}}, %arg1: tensor<16x16xf32>
// CHECK-NOT: all_gather
// CHECK: "stablehlo.reduce_scatter"
// CHECK: "stablehlo.all_gather"(%[[PART:.*]]) <{{.*}} -> tensor<16x16xf32>
// CHECK-NOT: all_gather
func.func @main(
    %w: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("w"),
    %target: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("target"),
    %x: tensor<64x16xf32> loc("x")) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %wanted = stablehlo.dot_general %x, %target, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %error = stablehlo.subtract %y, %wanted : tensor<64x16xf32>
  %square = stablehlo.multiply %error, %error : tensor<64x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x16xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %x, %error, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  %rate = stablehlo.constant dense<0.01> : tensor<16x16xf32>
  %step = stablehlo.multiply %rate, %g : tensor<16x16xf32>
  %next = stablehlo.subtract %w, %step : tensor<16x16xf32>
  %keep = stablehlo.constant dense<0.99> : tensor<16x16xf32>
  %kept = stablehlo.multiply %keep, %target : tensor<16x16xf32>
  %new = stablehlo.multiply %rate, %next : tensor<16x16xf32>
  %average = stablehlo.add %kept, %new : tensor<16x16xf32>
  return %next, %average, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}
