// RUN: shardc opt %s --passes sdy-add-data-flow-edges | FileCheck %s
// Data-flow edges are inserted for loops and manual computations.
sdy.mesh @mesh = <["a"=2, "b"=2]>

// A value in a loop has one edge: behind the loop.
// CHECK-LABEL: func @loop
func.func @loop(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: %[[LOOP:.*]]:2 = stablehlo.while(%iterArg = %{{.*}}, %iterArg_0 = %{{.*}}) : tensor<i32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"a"}, {?}]>]>}
  // CHECK: %[[NEXT:.*]] = stablehlo.add %iterArg_0, %iterArg_0
  // CHECK: stablehlo.return %iterArg, %[[NEXT]]
  // CHECK: %[[EDGE0:.*]] = sdy.data_flow_edge %[[LOOP]]#0 sharding=<@mesh, []> : tensor<i32>
  // CHECK-NEXT: %[[EDGE1:.*]] = sdy.data_flow_edge %[[LOOP]]#1 sharding=<@mesh, [{"a"}, {?}]> : tensor<8x8xf32>
  // CHECK-NEXT: return %[[EDGE1]]
  %0:2 = stablehlo.while(%i = %zero, %x = %arg0) : tensor<i32>, tensor<8x8xf32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"a"}, {?}]>]>}
  cond {
    %1 = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %x, %x : tensor<8x8xf32>
    stablehlo.return %i, %1 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}

// Inside of a manual computation its manual axes do not exist; in it there may be others.
// CHECK-LABEL: func @nested
func.func @nested(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[OUTER:.*]] = sdy.manual_computation(%arg0)
  // CHECK-SAME: (%arg1: tensor<4x8xf32>) {
  // CHECK-NEXT: %[[IN:.*]] = sdy.data_flow_edge %arg1 sharding=<@mesh, [{}, {"b", ?}]> : tensor<4x8xf32>
  // CHECK-NEXT: %[[INNER:.*]] = sdy.manual_computation(%[[IN]])
  // CHECK-SAME: (%arg2: tensor<4x4xf32>) {
  // CHECK-NEXT: %[[ININ:.*]] = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}]> : tensor<4x4xf32>
  // CHECK-NEXT: sdy.return %[[ININ]]
  // CHECK: %[[OUT:.*]] = sdy.data_flow_edge %[[INNER]] sharding=<@mesh, [{}, {"b"}]> : tensor<4x8xf32>
  // CHECK-NEXT: sdy.return %[[OUT]]
  // CHECK: %[[OUTPUT:.*]] = sdy.data_flow_edge %[[OUTER]] sharding=<@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  // CHECK-NEXT: return %[[OUTPUT]]
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b", ?}]>] out_shardings=[<@mesh, [{"a"}, {}]>]
      manual_axes={"a"} (%arg1: tensor<4x8xf32>) {
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{?}, {"b", ?}]>] out_shardings=[<@mesh, [{}, {"b"}]>]
        manual_axes={"b"} (%arg2: tensor<4x4xf32>) {
      sdy.return %arg2 : tensor<4x4xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Tokens and unknown sizes have no sharding that could flow.
// CHECK-LABEL: func @tokens
func.func @tokens(%arg0: !stablehlo.token, %arg1: tensor<?xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[OUT:.*]]:3 = stablehlo.optimization_barrier
  // CHECK-NEXT: %[[EDGE:.*]] = sdy.data_flow_edge %[[OUT]]#2 : tensor<2xf32>
  // CHECK-NEXT: return %[[EDGE]]
  %0:3 = stablehlo.optimization_barrier %arg0, %arg1, %arg2 : !stablehlo.token, tensor<?xf32>, tensor<2xf32>
  return %0#2 : tensor<2xf32>
}
