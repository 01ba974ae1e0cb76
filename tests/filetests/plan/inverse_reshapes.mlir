// Reshapes that add and remove a dimension of size one are ignored.
// RUN: shardc opt %s --passes fold-reshapes,dce | FileCheck %s

// CHECK-LABEL: func.func @comes_and_goes
// CHECK-NOT: stablehlo.reshape
// CHECK: stablehlo.negate %arg0
func.func @comes_and_goes(%a: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
  %2 = stablehlo.negate %1 : tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}

// Elements change places: this is no reshape.
// CHECK-LABEL: func.func @transposes
// CHECK: stablehlo.reshape
func.func @transposes(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [2, 1] : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
