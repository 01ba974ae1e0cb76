// Weights that a step returns unchanged while it trains others are frozen parameters, like the teacher in distillation.
// RUN: shardc fsdp roles %s | FileCheck %s

// CHECK: arg0 w tensor<16x16xf32> parameter res0
// CHECK: arg1 teacher tensor<16x16xf32> frozen_parameter res1
func.func @main(
    %w: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("w"),
    %teacher: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("teacher"),
    %x: tensor<64x16xf32> loc("x")) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %wanted = stablehlo.dot_general %x, %teacher, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %error = stablehlo.subtract %y, %wanted : tensor<64x16xf32>
  %square = stablehlo.multiply %error, %error : tensor<64x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x16xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %x, %error, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  %rate = stablehlo.constant dense<0.01> : tensor<16x16xf32>
  %step = stablehlo.multiply %rate, %g : tensor<16x16xf32>
  %next = stablehlo.subtract %w, %step : tensor<16x16xf32>
  return %next, %teacher, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}
