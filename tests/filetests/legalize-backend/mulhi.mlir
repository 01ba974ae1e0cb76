// Plugins may have a CHLO dialect without mulhi: it is computed in 64 bits, or from halves.
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --implicit-check-not=chlo.mulhi

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<4xui32>, %b: tensor<4xi64>) -> (tensor<4xui32>, tensor<4xi64>) {
  // CHECK: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4xui32>) -> tensor<4xui64>
  // CHECK: %[[B:.*]] = stablehlo.convert %arg0 : (tensor<4xui32>) -> tensor<4xui64>
  // CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %[[A]], %[[B]]
  // CHECK: %[[BITS:.*]] = stablehlo.constant dense<32> : tensor<4xui64>
  // CHECK: %[[HIGH:.*]] = stablehlo.shift_right_logical %[[PRODUCT]], %[[BITS]]
  // CHECK: stablehlo.convert %[[HIGH]] : (tensor<4xui64>) -> tensor<4xui32>
  %0 = chlo.mulhi %a, %a : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
  // CHECK: stablehlo.constant dense<4294967295> : tensor<4xui64>
  // CHECK: stablehlo.compare LT, %arg1
  %1 = chlo.mulhi %b, %b : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  return %0, %1 : tensor<4xui32>, tensor<4xi64>
}
