// A weight that is decayed by an argument of the step is not an activation of its layer: it is not recomputed.
// RUN: shardc fsdp apply %s --fsdp "no_shard activation_checkpointing" --mesh data=4 | FileCheck %s
// RUN: shardc verify %s --fsdp "no_shard activation_checkpointing" --mesh data=4
// CHECK: %[[H1:.*]] = stablehlo.dot_general %arg3, %arg0
// CHECK: stablehlo.optimization_barrier %[[H1]]
// CHECK-NOT: optimization_barrier
// CHECK: %[[KEEP:.*]] = stablehlo.broadcast_in_dim %arg4
// CHECK: stablehlo.multiply %arg0, %[[KEEP]]
func.func @main(
    %a0: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("params['h'][0]['a']"),
    %a1: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("params['h'][1]['a']"),
    %a2: tensor<16x16xf32> {tf.aliasing_output = 2 : i32} loc("params['h'][2]['a']"),
    %x: tensor<8x16xf32> loc("x"), %keep: tensor<f32> loc("keep"))
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h1 = stablehlo.dot_general %x, %a0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %t1 = stablehlo.tanh %h1 : tensor<8x16xf32>
  %h2 = stablehlo.dot_general %t1, %a1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %t2 = stablehlo.tanh %h2 : tensor<8x16xf32>
  %h3 = stablehlo.dot_general %t2, %a2, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %square = stablehlo.multiply %h3, %h3 : tensor<8x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %d3 = stablehlo.add %h3, %h3 : tensor<8x16xf32>
  %g2 = stablehlo.dot_general %t2, %d3, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %b2 = stablehlo.dot_general %d3, %a2, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %d2 = stablehlo.multiply %b2, %t2 : tensor<8x16xf32>
  %g1 = stablehlo.dot_general %t1, %d2, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %b1 = stablehlo.dot_general %d2, %a1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %d1 = stablehlo.multiply %b1, %t1 : tensor<8x16xf32>
  %g0 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %wide = stablehlo.broadcast_in_dim %keep, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %k0 = stablehlo.multiply %a0, %wide : tensor<16x16xf32>
  %k1 = stablehlo.multiply %a1, %wide : tensor<16x16xf32>
  %p0 = stablehlo.subtract %k0, %g0 : tensor<16x16xf32>
  %p1 = stablehlo.subtract %k1, %g1 : tensor<16x16xf32>
  %p2 = stablehlo.subtract %a2, %g2 : tensor<16x16xf32>
  return %p0, %p1, %p2, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}
