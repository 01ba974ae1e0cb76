// A branch after the forward pass recomputes activations: the parameters that it reads are all-gathered after the
// preceding operations, not after a value of its own.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s

// CHECK: %[[ODD:[0-9]+]] = stablehlo.remainder
// CHECK-NEXT: %[[HELD:[0-9]+]] = stablehlo.optimization_barrier %arg0 : tensor<8x8xf32>
// CHECK-NEXT: %[[WHOLE:[0-9]+]] = sdy.sharding_constraint %[[HELD]] <@mesh, [{}, {}]> : tensor<8x8xf32>
// CHECK: "stablehlo.case"(%[[ODD]])
// CHECK-NEXT: stablehlo.dot_general %{{.*}}, %[[WHOLE]],
func.func public @main(%w1: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}, %w2: tensor<8x8xf32> {tf.aliasing_output = 1 : i32},
    %h: tensor<8x8xf32> {tf.aliasing_output = 2 : i32}, %count: tensor<i32> {tf.aliasing_output = 3 : i32}, %x: tensor<16x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %a = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %y = stablehlo.dot_general %a, %w2, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %square = stablehlo.multiply %y, %y : tensor<16x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
  %g2 = stablehlo.dot_general %a, %y, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %da = stablehlo.dot_general %y, %w2, contracting_dims = [1] x [1] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %g1 = stablehlo.dot_general %x, %da, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %odd = stablehlo.remainder %count, %two : tensor<i32>
  // A curvature of the second layer, by activations of the first.
  %new_h = "stablehlo.case"(%odd) ({
    %again = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %moved = stablehlo.dot_general %again, %again, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %sum = stablehlo.add %h, %moved : tensor<8x8xf32>
    stablehlo.return %sum : tensor<8x8xf32>
  }, {
    stablehlo.return %h : tensor<8x8xf32>
  }) : (tensor<i32>) -> tensor<8x8xf32>
  %new_w1 = stablehlo.subtract %w1, %g1 : tensor<8x8xf32>
  %scaled = stablehlo.divide %g2, %new_h : tensor<8x8xf32>
  %new_w2 = stablehlo.subtract %w2, %scaled : tensor<8x8xf32>
  %next = stablehlo.add %count, %one : tensor<i32>
  return %new_w1, %new_w2, %new_h, %next, %loss : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<f32>
}
