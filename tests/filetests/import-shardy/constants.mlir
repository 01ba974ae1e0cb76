// RUN: shardc opt %s --passes sdy-constant-or-scalar-splitter -split-input-file | FileCheck %s

// Each use of a constant expression gets its own copy, except scalars.
// CHECK-LABEL: func @each_use
func.func @each_use(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[ONE:.*]] = sdy.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-NEXT: %[[ROW_A:.*]] = stablehlo.broadcast_in_dim %[[ONE]], dims = []
  // CHECK-NEXT: %[[ROW_B:.*]] = stablehlo.broadcast_in_dim %[[ONE]], dims = []
  // CHECK-NEXT: %[[COUNT_A:.*]] = stablehlo.iota dim = 0
  // CHECK-NEXT: %[[COUNT_B:.*]] = stablehlo.iota dim = 0
  // CHECK-NEXT: %[[SUM_A:.*]] = stablehlo.add %[[ROW_A]], %[[COUNT_A]]
  // CHECK-NEXT: %[[SUM_B:.*]] = stablehlo.add %[[ROW_B]], %[[COUNT_B]]
  // CHECK-NEXT: %[[USE:.*]] = stablehlo.multiply %arg0, %[[SUM_A]]
  // CHECK-NEXT: return %[[USE]], %[[SUM_B]]
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %unused = stablehlo.constant dense<2.0> : tensor<8xf32>
  %row = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %count = stablehlo.iota dim = 0 : tensor<8xf32>
  %sum = stablehlo.add %row, %count : tensor<8xf32>
  %use = stablehlo.multiply %arg0, %sum : tensor<8xf32>
  return %use, %sum : tensor<8xf32>, tensor<8xf32>
}

// -----

// A call of a function that holds constants only is a constant: each use calls its own copy. Any other function
// is not.
// CHECK-LABEL: func private @constants
func.func private @constants() -> tensor<4xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func private @more
func.func private @more() -> tensor<4xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.custom_call @random(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @main
func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = call @constants_0()
  // CHECK-NEXT: %[[B:.*]] = call @constants_1()
  // CHECK-NEXT: %[[C:.*]] = call @more()
  // CHECK-NEXT: %[[D:.*]] = stablehlo.add %arg0, %[[A]]
  // CHECK-NEXT: %[[E:.*]] = stablehlo.add %arg0, %[[C]]
  // CHECK-NEXT: return %[[B]], %[[C]], %[[D]], %[[E]]
  %0 = call @constants() : () -> tensor<4xf32>
  %1 = call @more() : () -> tensor<4xf32>
  %2 = stablehlo.add %arg0, %0 : tensor<4xf32>
  %3 = stablehlo.add %arg0, %1 : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK: func private @constants_0() -> tensor<4xf32> attributes {sdy.original_func_name = "constants"}

// -----

// The same for named computations, by their names; the two results of one have one copy for each use.
// CHECK-LABEL: func @named
func.func @named(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[FIRST:.*]]:2 = sdy.named_computation<"pair">() () {
  // CHECK: %[[SECOND:.*]]:2 = sdy.named_computation<"pair">() () {
  // CHECK: %[[SUM:.*]] = stablehlo.add %[[FIRST]]#0, %arg0
  // CHECK-NEXT: return %[[SUM]], %[[SECOND]]#1
  %0:2 = sdy.named_computation<"pair">() () {
    %1 = stablehlo.constant dense<1.0> : tensor<4xf32>
    %2 = stablehlo.iota dim = 0 : tensor<4xf32>
    sdy.return %1, %2 : tensor<4xf32>, tensor<4xf32>
  } : () -> (tensor<4xf32>, tensor<4xf32>)
  %3 = stablehlo.add %0#0, %arg0 : tensor<4xf32>
  return %3, %0#1 : tensor<4xf32>, tensor<4xf32>
}
