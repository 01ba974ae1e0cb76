// Each pass over calls, on one program: @main calls @twice and @once, which call @leaf.
// RUN: shardc opt %s --passes sdy-flatten-call-graph | FileCheck %s --check-prefix=FLAT
// RUN: shardc opt %s --passes sdy-import-func-calls | FileCheck %s --check-prefix=NAMED
// RUN: shardc opt %s -sdy-import-func-calls='add-data-flow-edges-on-named-computations=false' | FileCheck %s --check-prefix=BARE
// RUN: shardc opt %s --passes sdy-pre-order-funcs | FileCheck %s --check-prefix=ORDER
// RUN: shardc opt %s --passes sdy-propagate-sharding-from-func-to-call | FileCheck %s --check-prefix=RESULT
// RUN: shardc opt %s --passes sdy-add-func-data-flow-edges | FileCheck %s --check-prefix=EDGES

sdy.mesh @mesh = <["x"=2, "y"=2]>

// Calls of one function get copies of it, which have copies of what they call.
// FLAT: func private @leaf(
// FLAT: func private @twice(
// FLAT: call @leaf(
// FLAT: call @leaf_0(
// FLAT: func private @once(
// FLAT: call @leaf_1(
// FLAT: func @main(
// FLAT: call @twice(
// FLAT: call @once(
// FLAT: call @twice_4(
// FLAT: func private @leaf_0({{.*}} attributes {sdy.original_func_name = "leaf"}
// FLAT: func private @leaf_1({{.*}} attributes {sdy.original_func_name = "leaf"}
// FLAT: func private @leaf_2({{.*}} attributes {sdy.original_func_name = "leaf"}
// FLAT: func private @leaf_0_3({{.*}} attributes {sdy.original_func_name = "leaf"}
// FLAT: func private @twice_4({{.*}} attributes {sdy.original_func_name = "twice"}
// FLAT-NEXT: call @leaf_2(
// FLAT-NEXT: call @leaf_0_3(

// NAMED-NOT: func private
// NAMED: func @main(
// NAMED: %[[TWICE:.*]] = sdy.named_computation<"twice">(%arg0) (%arg1: tensor<8xf32>) {
// NAMED-NEXT: %[[EDGE:.*]] = sdy.data_flow_edge %arg1 : tensor<8xf32>
// NAMED-NEXT: %[[LEAF:.*]] = sdy.named_computation<"leaf">(%[[EDGE]]) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"y"}]>] (%arg2: tensor<8xf32>) {
// NAMED-NEXT: sdy.data_flow_edge %arg2 sharding=<@mesh, [{"x"}]> : tensor<8xf32>
// NAMED: sdy.data_flow_edge %[[LEAF]] sharding=<@mesh, [{"y"}]> : tensor<8xf32>
// NAMED: sdy.data_flow_edge %[[TWICE]] : tensor<8xf32>
// NAMED: sdy.named_computation<"once">
// NAMED: } {origin = "second"} : (tensor<8xf32>) -> tensor<8xf32>
// NAMED: sdy.named_computation<"twice">
// NAMED-NOT: func

// BARE-NOT: data_flow_edge
// BARE: sdy.named_computation<"leaf">(%arg1) in_shardings=[<@mesh, [{"x"}]>] (%arg2: tensor<8xf32>) {
// BARE-NEXT: stablehlo.negate %arg2
// BARE-NOT: data_flow_edge

// ORDER: sdy.mesh
// ORDER: func @main(
// ORDER: func private @once(
// ORDER: func private @twice(
// ORDER: func private @leaf(

// A call that has a sharding keeps it; the others take the function's.
// RESULT: call @leaf(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>}
// RESULT: call @leaf(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
// RESULT: call @leaf(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
// RESULT: call @twice(%arg0) :

// EDGES: func private @leaf(%arg0
// EDGES-NEXT: %[[ARG:.*]] = sdy.func_data_flow_edge %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
// EDGES-NEXT: stablehlo.negate %[[ARG]]
// EDGES: func private @twice(
// EDGES: %[[CALL:.*]] = call @leaf({{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>}
// EDGES-NEXT: %[[OUT:.*]] = sdy.func_data_flow_edge %[[CALL]] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>}
// EDGES-NEXT: call @leaf(%[[OUT]])
// EDGES: func @main(
// EDGES-NEXT: call @twice(%arg0)

func.func private @leaf(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @twice(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @leaf(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @leaf(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @once(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @leaf(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @twice(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @once(%0) {origin = "second"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @twice(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
