// Equal constants and broadcasts of one scalar are merged if their shardings are equal.
// RUN: shardc opt %s --passes sdy-constant-or-scalar-merger | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
func.func @main(%s: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[C:.*]] = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.000000e+00>
  // CHECK-NEXT: %[[D:.*]] = sdy.constant dense<1.000000e+00> : tensor<8xf32>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.broadcast_in_dim %arg0, dims = []
  // CHECK-NEXT: return %[[C]], %[[C]], %[[D]], %[[B]], %[[B]]
  %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.0> : tensor<8xf32>
  %1 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.0> : tensor<8xf32>
  %2 = sdy.constant dense<1.0> : tensor<8xf32>
  %3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %4 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
  return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Constants in other regions are not merged.
// CHECK-LABEL: func @regions
func.func @regions(%p: tensor<i1>) -> tensor<8xf32> {
  // CHECK-COUNT-2: sdy.constant
  %0 = "stablehlo.if"(%p) ({
    %1 = sdy.constant dense<1.0> : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = sdy.constant dense<1.0> : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
