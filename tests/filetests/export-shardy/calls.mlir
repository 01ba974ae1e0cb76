// Function results get the shardings of the returned values; calls reshard their operands to the callee's shardings.
// RUN: shardc opt %s --passes sdy-propagate-to-func-results | FileCheck %s --check-prefix=RESULTS
// RUN: shardc opt %s --passes sdy-propagate-to-func-results,sdy-insert-func-call-reshards | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// RESULTS: func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})
// CHECK-LABEL: func @main
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  // CHECK-NEXT: %[[C:.*]]:2 = call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>}
  // CHECK-NEXT: %[[R1:.*]] = sdy.reshard %[[C]]#1 <@mesh, [{"x"}]>
  // CHECK-NEXT: %[[R0:.*]] = sdy.reshard %[[C]]#0 <@mesh, [{"y"}]>
  // CHECK-NEXT: %[[D:.*]]:2 = call @f(%[[R0]]) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>}
  // CHECK-NEXT: %[[S:.*]] = sdy.reshard %[[D]]#0 <@mesh, [{}]>
  // CHECK-NEXT: return %[[R1]], %[[S]]
  %0:2 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>, <@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1:2 = call @f(%0#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#1, %1#0 : tensor<8xf32>, tensor<8xf32>
}

// The previous result shardings of the function are ignored.
// RESULTS: func private @f(%arg0: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32>)
func.func private @f(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = stablehlo.sine %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  return %0, %a : tensor<8xf32>, tensor<8xf32>
}
