// A layer's input is saved as its producer's operand if this is not larger and no matmul is between them: h1 has
// another use, and is saved; its row sums, the quotient and the broadcast mask are recomputed.
// RUN: shardc fsdp apply %s --fsdp "no_shard activation_checkpointing" --mesh data=4 | FileCheck %s
// CHECK: %[[H1:.*]] = stablehlo.dot_general %arg3, %arg0
// CHECK: %[[G2:.*]] = stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[HELD:.*]]:4 = stablehlo.optimization_barrier %arg4, %[[H1]], %[[G2]], %{{[0-9]+}} :
// CHECK: %[[SUMS:.*]] = stablehlo.reduce(%[[HELD]]#1
// CHECK: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %[[SUMS]]
// CHECK: %[[QUOTIENT:.*]] = stablehlo.divide %[[HELD]]#1, %[[WIDE]]
// CHECK: %[[MASK:.*]] = stablehlo.broadcast_in_dim %[[HELD]]#0
// CHECK: stablehlo.select %[[MASK]], %[[QUOTIENT]]
func.func @main(
    %a0: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("params['h'][0]['a']"),
    %a1: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("params['h'][1]['a']"),
    %a2: tensor<16x16xf32> {tf.aliasing_output = 2 : i32} loc("params['h'][2]['a']"),
    %x: tensor<8x16xf32> loc("x"), %m: tensor<8xi1> loc("mask"))
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<8x16xf32>
  %h1 = stablehlo.dot_general %x, %a0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %s1 = stablehlo.reduce(%h1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %w1 = stablehlo.broadcast_in_dim %s1, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %q1 = stablehlo.divide %h1, %w1 : tensor<8x16xf32>
  %k1 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xi1>) -> tensor<8x16xi1>
  %n1 = stablehlo.select %k1, %q1, %none : tensor<8x16xi1>, tensor<8x16xf32>
  %o1 = stablehlo.dot_general %n1, %a1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %h2 = stablehlo.add %h1, %o1 : tensor<8x16xf32>
  %s2 = stablehlo.reduce(%h2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %w2 = stablehlo.broadcast_in_dim %s2, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %q2 = stablehlo.divide %h2, %w2 : tensor<8x16xf32>
  %k2 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xi1>) -> tensor<8x16xi1>
  %n2 = stablehlo.select %k2, %q2, %none : tensor<8x16xi1>, tensor<8x16xf32>
  %o2 = stablehlo.dot_general %n2, %a2, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %h3 = stablehlo.add %h2, %o2 : tensor<8x16xf32>
  %square = stablehlo.multiply %h3, %h3 : tensor<8x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %d3 = stablehlo.add %h3, %h3 : tensor<8x16xf32>
  %g2 = stablehlo.dot_general %n2, %d3, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %b2 = stablehlo.dot_general %d3, %a2, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %d2 = stablehlo.add %d3, %b2 : tensor<8x16xf32>
  %g1 = stablehlo.dot_general %n1, %d2, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %b1 = stablehlo.dot_general %d2, %a1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %d1 = stablehlo.add %d2, %b1 : tensor<8x16xf32>
  %g0 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %p0 = stablehlo.subtract %a0, %g0 : tensor<16x16xf32>
  %p1 = stablehlo.subtract %a1, %g1 : tensor<16x16xf32>
  %p2 = stablehlo.subtract %a2, %g2 : tensor<16x16xf32>
  return %p0, %p1, %p2, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}
