// Activation checkpointing: residuals of a layer are recomputed from the layer's inputs, behind a barrier on the
// layer's output cotangent and on parameter gradients of the next layer. The last layer's residuals are saved,
// because its gradients come first; so are inputs of the step and of the next layer. Layers outside of loops are
// identified by the numbers in names; without such names, this is reported.
// RUN: shardc fsdp apply %s --fsdp "full_shard activation_checkpointing" --mesh fsdp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp "full_shard auto_wrap activation_checkpointing" --mesh fsdp=4 | FileCheck %s --check-prefix=UNITS
// RUN: shardc fsdp apply %S/units.mlir --fsdp "full_shard activation_checkpointing" --mesh fsdp=4 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: shardc fsdp apply %S/full_shard.mlir --fsdp "full_shard activation_checkpointing" --mesh fsdp=4 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: stablehlo.exponential
// CHECK: %[[E1:.*]] = stablehlo.exponential
// CHECK: %[[GB1:.*]] = stablehlo.dot_general %[[E1]], %{{.*}}, contracting_dims = [0] x [0]
// CHECK: %[[DU1:.*]] = stablehlo.multiply %{{.*}}, %[[E1]]
// CHECK: %[[GA1:.*]] = stablehlo.dot_general %{{.*}}, %[[DU1]]
// CHECK: %[[DH1:.*]] = stablehlo.dot_general %[[DU1]]
// CHECK: %[[HELD:.*]]:4 = stablehlo.optimization_barrier %arg4, %[[GB1]], %[[GA1]], %[[DH1]]
// CHECK: %[[AGAIN:.*]] = stablehlo.dot_general %[[HELD]]#0
// CHECK: %[[E0:.*]] = stablehlo.exponential %[[AGAIN]]
// CHECK: stablehlo.dot_general %[[E0]], %[[DH1]]
// CHECK: stablehlo.multiply %{{.*}}, %[[E0]]
// CHECK: stablehlo.subtract %arg2, %[[HELD]]#2
// CHECK: stablehlo.subtract %arg3, %[[HELD]]#1

// The parameters of a recomputed unit are all-gathered once for recomputation and gradients.
// UNITS: %[[HELD:.*]]:4 = stablehlo.optimization_barrier %arg4, %{{[0-9]+}}, %{{[0-9]+}}, %[[DH1:[0-9]+]]
// UNITS: %[[UNIT:.*]]:3 = stablehlo.optimization_barrier %arg0, %arg1, %[[HELD]]#0
// UNITS: %[[A0:.*]] = sdy.sharding_constraint %[[UNIT]]#0
// UNITS: stablehlo.dot_general %[[HELD]]#0, %[[A0]]
// UNITS: %[[B0:.*]] = sdy.sharding_constraint %[[UNIT]]#1
// UNITS: stablehlo.dot_general %[[DH1]], %[[B0]]

// KEPT-NOT: warning
// NONE: warning[SH1252]: activation_checkpointing: no layer activations to rematerialize in this step
// NONE: = help: layers are found by the numbers in the names of parameters, outside of loops; for other code, choose what is rematerialized where the step is differentiated: `jax.checkpoint` or `shardc grad --checkpoint`
func.func @main(
    %a0: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("params['h'][0]['a']"),
    %b0: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("params['h'][0]['b']"),
    %a1: tensor<16x16xf32> {tf.aliasing_output = 2 : i32} loc("params['h'][1]['a']"),
    %b1: tensor<16x16xf32> {tf.aliasing_output = 3 : i32} loc("params['h'][1]['b']"),
    %x: tensor<8x16xf32> loc("x"))
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %u0 = stablehlo.dot_general %x, %a0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %e0 = stablehlo.exponential %u0 : tensor<8x16xf32>
  %h1 = stablehlo.dot_general %e0, %b0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %u1 = stablehlo.dot_general %h1, %a1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %e1 = stablehlo.exponential %u1 : tensor<8x16xf32>
  %y = stablehlo.dot_general %e1, %b1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x16xf32>
  %gb1 = stablehlo.dot_general %e1, %dy, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %de1 = stablehlo.dot_general %dy, %b1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %du1 = stablehlo.multiply %de1, %e1 : tensor<8x16xf32>
  %ga1 = stablehlo.dot_general %h1, %du1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %dh1 = stablehlo.dot_general %du1, %a1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %gb0 = stablehlo.dot_general %e0, %dh1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %de0 = stablehlo.dot_general %dh1, %b0, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %du0 = stablehlo.multiply %de0, %e0 : tensor<8x16xf32>
  %ga0 = stablehlo.dot_general %x, %du0, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %na0 = stablehlo.subtract %a0, %ga0 : tensor<16x16xf32>
  %nb0 = stablehlo.subtract %b0, %gb0 : tensor<16x16xf32>
  %na1 = stablehlo.subtract %a1, %ga1 : tensor<16x16xf32>
  %nb1 = stablehlo.subtract %b1, %gb1 : tensor<16x16xf32>
  return %na0, %nb0, %na1, %nb1, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}
