// The gradient of a parameter with two users is a sum of two partial sums, one of them transposed. Recomputation does
// not wait for the first: devices add both, and all-reduce once. It waits for %gb1 and %ga1.
// RUN: shardc fsdp apply %s --fsdp "no_shard activation_checkpointing" --mesh data=4 | FileCheck %s
// RUN: shardc partition %s --fsdp "no_shard activation_checkpointing" --mesh data=4 --summary -o %t 2>&1 | FileCheck %s --check-prefix=SENT
// CHECK: %[[FIRST:.*]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[GB1:.*]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[GA1:.*]] = stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0]
// CHECK: stablehlo.optimization_barrier %{{[0-9]+}}, %[[GB1]], %[[GA1]], %{{[0-9]+}} :
// CHECK: %[[TURNED:.*]] = stablehlo.transpose %[[FIRST]]
// CHECK: stablehlo.add %{{[0-9]+}}, %[[TURNED]]
// The gradients of a parameter of 16x4 and four of 4x4, and the loss: 129 numbers, 3/4 of them twice.
// SENT: all_reduce 2 0 2 774 B
func.func @main(
    %e: tensor<16x4xf32> {tf.aliasing_output = 0 : i32} loc("params['embedding']"),
    %a0: tensor<4x4xf32> {tf.aliasing_output = 1 : i32} loc("params['h'][0]['a']"),
    %b0: tensor<4x4xf32> {tf.aliasing_output = 2 : i32} loc("params['h'][0]['b']"),
    %a1: tensor<4x4xf32> {tf.aliasing_output = 3 : i32} loc("params['h'][1]['a']"),
    %b1: tensor<4x4xf32> {tf.aliasing_output = 4 : i32} loc("params['h'][1]['b']"),
    %x: tensor<8x16xf32> loc("x"))
    -> (tensor<16x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h0 = stablehlo.dot_general %x, %e, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %u0 = stablehlo.dot_general %h0, %a0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %e0 = stablehlo.exponential %u0 : tensor<8x4xf32>
  %h1 = stablehlo.dot_general %e0, %b0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %u1 = stablehlo.dot_general %h1, %a1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %e1 = stablehlo.exponential %u1 : tensor<8x4xf32>
  %h2 = stablehlo.dot_general %e1, %b1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.dot_general %h2, %e, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x16xf32>
  %first = stablehlo.dot_general %h2, %dy, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %dh2 = stablehlo.dot_general %dy, %e, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %gb1 = stablehlo.dot_general %e1, %dh2, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %de1 = stablehlo.dot_general %dh2, %b1, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %du1 = stablehlo.multiply %de1, %e1 : tensor<8x4xf32>
  %ga1 = stablehlo.dot_general %h1, %du1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dh1 = stablehlo.dot_general %du1, %a1, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %gb0 = stablehlo.dot_general %e0, %dh1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %de0 = stablehlo.dot_general %dh1, %b0, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %du0 = stablehlo.multiply %de0, %e0 : tensor<8x4xf32>
  %ga0 = stablehlo.dot_general %h0, %du0, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dh0 = stablehlo.dot_general %du0, %a0, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %second = stablehlo.dot_general %x, %dh0, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %turned = stablehlo.transpose %first, dims = [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %ge = stablehlo.add %second, %turned : tensor<16x4xf32>
  %ne = stablehlo.subtract %e, %ge : tensor<16x4xf32>
  %na0 = stablehlo.subtract %a0, %ga0 : tensor<4x4xf32>
  %nb0 = stablehlo.subtract %b0, %gb0 : tensor<4x4xf32>
  %na1 = stablehlo.subtract %a1, %ga1 : tensor<4x4xf32>
  %nb1 = stablehlo.subtract %b1, %gb1 : tensor<4x4xf32>
  return %ne, %na0, %nb0, %na1, %nb1, %loss : tensor<16x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}
