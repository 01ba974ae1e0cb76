// RUN: shardc opt %s --passes sdy-add-data-flow-edges,sdy-apply-sharding-constraints | FileCheck %s
// Sharding constraints are applied to the producers of their operands.
sdy.mesh @mesh = <["a"=2, "b"=2]>

// The producer gets the sharding of its constraint, with which the constraint's rule is written; an open one it does
// not get, nor one of two that disagree.
// CHECK-LABEL: func @producer
func.func @producer(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>}
  // CHECK-NEXT: sdy.sharding_constraint %[[A]] <@mesh, [{"a"}, {}]> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>}
  // CHECK-NEXT: %[[B:.*]] = stablehlo.abs %arg0 : tensor<8x8xf32>
  // CHECK-NEXT: sdy.sharding_constraint %[[B]] <@mesh, [{"a"}, {?}]> : tensor<8x8xf32>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.cosine %arg0 : tensor<8x8xf32>
  %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  %2 = stablehlo.abs %arg0 : tensor<8x8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"a"}, {?}]> : tensor<8x8xf32>
  %4 = stablehlo.cosine %arg0 : tensor<8x8xf32>
  %5 = sdy.sharding_constraint %4 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  %6 = sdy.sharding_constraint %4 <@mesh, [{}, {"b"}]> : tensor<8x8xf32>
  return %1, %3, %5, %6 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// Data-flow edges stay open: other users read the constrained value, and only unreduced axes are put on the edge.
// CHECK-LABEL: func @flow
func.func @flow(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[OUT:.*]]:2 = stablehlo.optimization_barrier %arg0, %arg1
  // CHECK-NEXT: %[[EDGE0:.*]] = sdy.data_flow_edge %[[OUT]]#0 : tensor<8x8xf32>
  // CHECK-NEXT: %[[CONSTRAINT:.*]] = sdy.sharding_constraint %[[EDGE0]] <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  // CHECK-NEXT: %[[EDGE1:.*]] = sdy.data_flow_edge %[[OUT]]#1 sharding=<@mesh, [{?}, {?}], unreduced={"b"}> : tensor<8x8xf32>
  // CHECK-NEXT: %[[PENDING:.*]] = sdy.sharding_constraint %[[EDGE1]] <@mesh, [{"a"}, {}], unreduced={"b"}> : tensor<8x8xf32>
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[CONSTRAINT]], %[[PENDING]]
  // CHECK-NEXT: return %[[SUM]], %[[CONSTRAINT]], %[[PENDING]]
  %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = stablehlo.add %0#0, %0#1 : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %0#0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  %3 = sdy.sharding_constraint %0#1 <@mesh, [{"a"}, {}], unreduced={"b"}> : tensor<8x8xf32>
  return %1, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// A constraint in a loop that is on a value from outside moves out.
// CHECK-LABEL: func @loop
func.func @loop(%arg0: tensor<8x8xf32>, %arg1: tensor<i32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[OUT:.*]] = stablehlo.optimization_barrier %arg0
  // CHECK-NEXT: %[[EDGE:.*]] = sdy.data_flow_edge %[[OUT]]
  // CHECK-NEXT: %[[CONSTRAINT:.*]] = sdy.sharding_constraint %[[EDGE]] <@mesh, [{"a"}, {}]>
  // CHECK-NEXT: stablehlo.while
  // CHECK: do {
  // CHECK-NEXT: stablehlo.add %[[CONSTRAINT]], %[[CONSTRAINT]]
  %0 = stablehlo.optimization_barrier %arg0 : tensor<8x8xf32>
  %1:2 = stablehlo.while(%i = %arg1, %x = %arg0) : tensor<i32>, tensor<8x8xf32>
  cond {
    %2 = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %0, %0 : tensor<8x8xf32>
    %3 = sdy.sharding_constraint %0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
    %4 = stablehlo.add %2, %3 : tensor<8x8xf32>
    stablehlo.return %i, %4 : tensor<i32>, tensor<8x8xf32>
  }
  return %1#1 : tensor<8x8xf32>
}

// A manual computation constrains its operands. Later users of the operand of a chain of constraints read the end of the chain.
// CHECK-LABEL: func @manual_and_chain
func.func @manual_and_chain(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>}
  // CHECK: %[[HEAD:.*]] = sdy.sharding_constraint %arg1 <@mesh, [{"a"}, {}]>
  // CHECK-NEXT: %[[BETWEEN:.*]] = stablehlo.abs %arg1
  // CHECK-NEXT: %[[TAIL:.*]] = sdy.sharding_constraint %[[HEAD]] <@mesh, [{}, {"b"}]>
  // CHECK-NEXT: stablehlo.add %[[BETWEEN]], %[[TAIL]]
  %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>]
      manual_axes={"a"} (%arg2: tensor<4x8xf32>) {
    sdy.return %arg2 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = sdy.sharding_constraint %arg1 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  %3 = stablehlo.abs %arg1 : tensor<8x8xf32>
  %4 = sdy.sharding_constraint %2 <@mesh, [{}, {"b"}]> : tensor<8x8xf32>
  %5 = stablehlo.add %3, %arg1 : tensor<8x8xf32>
  return %1, %5 : tensor<8x8xf32>, tensor<8x8xf32>
}
