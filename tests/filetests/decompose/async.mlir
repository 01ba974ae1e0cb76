// RUN: shardc opt %s --passes decompose | FileCheck %s

// The back end may choose when a started operation completes.

// CHECK-LABEL: func.func @main
// CHECK-NOT: async
// CHECK: %[[A:.*]] = stablehlo.slice %arg0 [0:2]
// CHECK: %[[B:.*]] = stablehlo.slice %arg0 [2:4]
// CHECK: stablehlo.add %[[A]], %[[B]]
func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    %4 = stablehlo.slice %y [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %4 : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  %1 = stablehlo.slice %x [2:4] : (tensor<4xf32>) -> tensor<2xf32>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %3 = stablehlo.add %2, %1 : tensor<2xf32>
  return %3 : tensor<2xf32>
}

// A future that goes elsewhere stays one.
// CHECK-LABEL: func.func @future
// CHECK: "stablehlo.async_start"
func.func @future(%x: tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    %1 = stablehlo.slice %y [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return %0 : !stablehlo.future<tensor<2xf32>>
}
