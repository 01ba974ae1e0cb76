// A step also returns the norm of its update, which depends on parameters and both moments, while the loss depends on
// parameters alone. Only the loss determines trained arguments. The same holds for the product of momentum and gradient.
// RUN: shardc fsdp roles %s | FileCheck %s

// CHECK: arg0 w tensor<8x8xf32> parameter res0
// CHECK: arg1 m tensor<8x8xf32> optimizer_state res1 arg0
// CHECK: arg2 v tensor<8x8xf32> optimizer_state res2 arg0
// CHECK: arg3 x tensor<16x8xf32> batch dimension 0
// CHECK: the loss is res5
func.func public @main(%w: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<8x8xf32> {tf.aliasing_output = 1 : i32},
    %v: tensor<8x8xf32> {tf.aliasing_output = 2 : i32}, %x: tensor<16x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %decay = stablehlo.constant dense<0.9> : tensor<8x8xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %square = stablehlo.multiply %y, %y : tensor<16x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %along = stablehlo.dot_general %m, %g, contracting_dims = [0, 1] x [0, 1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<f32>
  %old_m = stablehlo.multiply %m, %decay : tensor<8x8xf32>
  %new_m = stablehlo.add %old_m, %g : tensor<8x8xf32>
  %old_v = stablehlo.multiply %v, %decay : tensor<8x8xf32>
  %gg = stablehlo.multiply %g, %g : tensor<8x8xf32>
  %new_v = stablehlo.add %old_v, %gg : tensor<8x8xf32>
  %scale = stablehlo.rsqrt %new_v : tensor<8x8xf32>
  %update = stablehlo.multiply %new_m, %scale : tensor<8x8xf32>
  %squares = stablehlo.multiply %update, %update : tensor<8x8xf32>
  %norm = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %new_w = stablehlo.subtract %w, %update : tensor<8x8xf32>
  return %new_w, %new_m, %new_v, %norm, %along, %loss : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
