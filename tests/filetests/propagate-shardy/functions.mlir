// Data-flow edges connect functions: arguments with all calls, results with each call.
// RUN: shardc opt %s -sdy-basic-propagate | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}, tensor<8xf32>)
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: sdy.func_data_flow_edge %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
  %1 = sdy.func_data_flow_edge %0 : tensor<8xf32>
  // A value that no sharding reaches is unchanged.
  // CHECK: %2 = call @g(%arg1) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @g(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = sdy.func_data_flow_edge %2 : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// CHECK: func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32>
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: sdy.func_data_flow_edge %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>}
  %0 = sdy.func_data_flow_edge %a : tensor<8xf32>
  // CHECK: stablehlo.tanh {{.*}}[{"x", ?}]
  %1 = stablehlo.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK: func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32>
func.func private @g(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.func_data_flow_edge %a : tensor<8xf32>
  // CHECK: stablehlo.tanh %{{.*}} : tensor<8xf32>
  %1 = stablehlo.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
