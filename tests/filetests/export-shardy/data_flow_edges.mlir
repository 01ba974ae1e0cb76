// The shardings of data-flow edges are moved to their sources, and the edges are removed.
// RUN: shardc opt %s --passes sdy-sink-data-flow-edges | FileCheck %s
// RUN: shardc opt %s --passes 'sdy-sink-data-flow-edges{sink-debug-sharding-origins}' | FileCheck %s --check-prefix=ORIGINS

sdy.mesh @mesh = <["x"=2, "y"=2]>

// An edge without a sharding stands for an open one where another has one.
// CHECK-LABEL: func @barrier
func.func @barrier(%a: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[B:.*]]:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {?}]>, <@mesh, [{?}]>]>} %arg0, %arg1
  // CHECK-NEXT: return %[[B]]#0, %[[B]]#1
  // ORIGINS: sdy.result_sharding_origins = [{x = "self"}]
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<8x8xf32>, tensor<8xf32>
  %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"x"}, {?}]> {sdy.sharding_origins = {x = "self"}} : tensor<8x8xf32>
  %2 = sdy.data_flow_edge %0#1 : tensor<8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8xf32>
}

// Inside of a manual computation its axes do not exist; outside they come first.
// CHECK-LABEL: func @manual
func.func @manual(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-NEXT: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y", ?}, {}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %arg1
  // CHECK-NEXT: sdy.return %[[S]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %0
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {}]>] out_shardings=[<@mesh, [{"x"}, {?}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    %2 = sdy.data_flow_edge %b sharding=<@mesh, [{"y", ?}, {}]> : tensor<4x8xf32>
    %3 = stablehlo.sine %2 : tensor<4x8xf32>
    sdy.return %3 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
