// FSDP units: layers are repeated modules, identified by the numbers in names. The parameters of a unit are
// all-gathered again behind one barrier, parameters outside of units once. A unit is all-gathered before its
// gradients are computed, or, with backward_prefetch, with the output cotangent of the next unit.
// RUN: shardc fsdp roles %s --fsdp "full_shard auto_wrap" | FileCheck %s --check-prefix=ROLES
// RUN: shardc fsdp roles %s --fsdp "full_shard always_wrap" | FileCheck %s --check-prefix=ALWAYS
// RUN: shardc fsdp roles %s --fsdp "full_shard min_num_params=300" | FileCheck %s --check-prefix=SIZE
// RUN: shardc fsdp roles %s --fsdp "full_shard min_num_params" | FileCheck %s --check-prefix=NONE
// RUN: shardc fsdp apply %s --fsdp "full_shard auto_wrap" --mesh fsdp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp "full_shard auto_wrap backward_prefetch" --mesh fsdp=4 | FileCheck %s --check-prefix=PRE
// RUN: shardc fsdp apply %s --fsdp "full_shard no_wrap" --mesh fsdp=4 | FileCheck %s --check-prefix=ROOT

// ROLES: argument name type role next value state of batch unit
// ROLES: arg0 params['h'][0]['a'] tensor<16x16xf32> parameter res0 params.h.0
// ROLES: arg2 params['h'][1]['a'] tensor<16x16xf32> parameter res2 params.h.1
// ROLES: arg4 params['head'] tensor<16x4xf32> parameter res4 (root)
// ALWAYS: arg4 params['head'] tensor<16x4xf32> parameter res4 params
// SIZE: arg0 params['h'][0]['a'] tensor<16x16xf32> parameter res0 params.h.0
// SIZE: arg4 params['head'] tensor<16x4xf32> parameter res4 (root)
// NONE: the wrap policy creates no units: each parameter is all-gathered separately

// CHECK: %[[HEAD:.*]] = sdy.sharding_constraint %arg4 <@mesh, [{}, {}]>
// CHECK: stablehlo.dot_general {{.*}}, %[[HEAD]]
// CHECK: stablehlo.dot_general %[[DY:.*]], %[[HEAD]], contracting_dims = [1] x [1]
// CHECK: %[[DH:.*]] = stablehlo.dot_general
// CHECK: %[[LAST:.*]]:3 = stablehlo.optimization_barrier %arg3, %arg2, %[[DLAST:[^ ]*]]
// CHECK: sdy.sharding_constraint %[[LAST]]#0
// CHECK: sdy.sharding_constraint %[[LAST]]#1
// CHECK: %[[FIRST:.*]]:2 = stablehlo.optimization_barrier %arg1, %[[DFIRST:[^ ]*]]
// CHECK: sdy.sharding_constraint %[[FIRST]]#0

// PRE: %[[LAST:.*]]:3 = stablehlo.optimization_barrier %arg3, %arg2, %[[DLAST:[^ ]*]]
// PRE: stablehlo.optimization_barrier %arg1, %[[DLAST]]
// ROOT-NOT: optimization_barrier
func.func @main(
    %a0: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("params['h'][0]['a']"),
    %b0: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("params['h'][0]['b']"),
    %a1: tensor<16x16xf32> {tf.aliasing_output = 2 : i32} loc("params['h'][1]['a']"),
    %b1: tensor<16x16xf32> {tf.aliasing_output = 3 : i32} loc("params['h'][1]['b']"),
    %head: tensor<16x4xf32> {tf.aliasing_output = 4 : i32} loc("params['head']"),
    %x: tensor<8x16xf32> loc("x"))
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h1 = stablehlo.dot_general %x, %a0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %h2 = stablehlo.dot_general %h1, %b0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %h3 = stablehlo.dot_general %h2, %a1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %h4 = stablehlo.dot_general %h3, %b1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %y = stablehlo.dot_general %h4, %head, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x4xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x4xf32>
  %ghead = stablehlo.dot_general %h4, %dy, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %d4 = stablehlo.dot_general %dy, %head, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  %gb1 = stablehlo.dot_general %h3, %d4, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %d3 = stablehlo.dot_general %d4, %b1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %ga1 = stablehlo.dot_general %h2, %d3, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %d2 = stablehlo.dot_general %d3, %a1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %gb0 = stablehlo.dot_general %h1, %d2, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %d1 = stablehlo.dot_general %d2, %b0, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %ga0 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %na0 = stablehlo.subtract %a0, %ga0 : tensor<16x16xf32>
  %nb0 = stablehlo.subtract %b0, %gb0 : tensor<16x16xf32>
  %na1 = stablehlo.subtract %a1, %ga1 : tensor<16x16xf32>
  %nb1 = stablehlo.subtract %b1, %gb1 : tensor<16x16xf32>
  %nhead = stablehlo.subtract %head, %ghead : tensor<16x4xf32>
  return %na0, %nb0, %na1, %nb1, %nhead, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x4xf32>, tensor<f32>
}
