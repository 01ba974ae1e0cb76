// Function data-flow edges pass on their shardings, or open the existing ones.
// RUN: shardc opt %s --passes sdy-sink-func-data-flow-edges | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK: func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg2: tensor<8xf32>)
// CHECK-NEXT: stablehlo.add %arg0, %arg1
// CHECK-NEXT: stablehlo.add %0, %arg2
func.func private @f(%a: tensor<8xf32>, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %c: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.func_data_flow_edge %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  %1 = sdy.func_data_flow_edge %b : tensor<8xf32>
  %2 = sdy.func_data_flow_edge %c : tensor<8xf32>
  %3 = stablehlo.add %0, %1 : tensor<8xf32>
  %4 = stablehlo.add %3, %2 : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// CHECK: func @main
// CHECK-NEXT: %[[C:.*]] = call @f(%arg0, %arg0, %arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
// CHECK-NEXT: return %[[C]]
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%a, %a, %a) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.func_data_flow_edge %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}
