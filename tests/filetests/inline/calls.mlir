// Every call is replaced by a copy of the function's body, including nested calls.
// RUN: shardc opt %s --passes inline | FileCheck %s

// CHECK: func.func public @main(%arg0: tensor<4xf32>)
// CHECK-NEXT: %0 = stablehlo.sine %arg0 : tensor<4xf32>
// CHECK-NEXT: %1 = stablehlo.add %0, %0 : tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.sine %1 : tensor<4xf32>
// CHECK-NEXT: %3 = stablehlo.add %2, %2 : tensor<4xf32>
// CHECK-NEXT: return %3
// CHECK-NOT: call
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @outer(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @outer(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @outer(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @inner(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
