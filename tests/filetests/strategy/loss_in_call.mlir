// The loss is the first computed of two scalar results, here in a called function. The other one is the next
// value of a temperature, which is not donated; it is a parameter, and its momentum is not data of the step.
// RUN: shardc fsdp roles %s | FileCheck %s

// CHECK: w tensor<8x8xf32> parameter res0
// CHECK: t tensor<f32> scalar
// CHECK: x tensor<16x8xf32> batch dimension 0
// CHECK: the loss is res3
func.func private @square(%x: tensor<16x8xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<16x8xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func @main(%w: tensor<8x8xf32> loc("w"), %t: tensor<f32> loc("t"), %m: tensor<f32> loc("m"), %x: tensor<16x8xf32> loc("x")) -> (tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ten = stablehlo.constant dense<10.0> : tensor<f32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %ts = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
  %y = stablehlo.multiply %h, %ts : tensor<16x8xf32>
  %loss = func.call @square(%y) : (tensor<16x8xf32>) -> tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<16x8xf32>
  %dy = stablehlo.multiply %y, %two : tensor<16x8xf32>
  %dh = stablehlo.multiply %dy, %ts : tensor<16x8xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %dt = stablehlo.multiply %dy, %h : tensor<16x8xf32>
  %dts = stablehlo.reduce(%dt init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
  %w1 = stablehlo.subtract %w, %dw : tensor<8x8xf32>
  %m1 = stablehlo.add %m, %dts : tensor<f32>
  %moved = stablehlo.subtract %t, %m1 : tensor<f32>
  %t1 = stablehlo.minimum %moved, %ten : tensor<f32>
  return %w1, %t1, %m1, %loss : tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
