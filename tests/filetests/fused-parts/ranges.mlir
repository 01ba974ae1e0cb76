// RUN: shardc opt %s --passes fused-parts,dce | FileCheck %s
//
// One of three parts of a matmul is a slice of its columns, whether or not the program reshapes and transposes the
// columns before it takes the part.

// CHECK-LABEL: func.func public @apart
// CHECK: %[[K:.*]] = stablehlo.slice %arg0 [0:8, 32:64]
// CHECK: %[[HEADS:.*]] = stablehlo.reshape %[[K]] : (tensor<8x32xf32>) -> tensor<8x1x4x8xf32>
// CHECK: %[[V:.*]] = stablehlo.slice %arg0 [0:8, 64:96]
// CHECK: stablehlo.reshape %[[V]] : (tensor<8x32xf32>) -> tensor<8x1x4x8xf32>
// CHECK: return %[[HEADS]],
func.func public @apart(%qkv: tensor<8x96xf32>) -> (tensor<8x1x4x8xf32>, tensor<8x1x4x8xf32>) {
  %0 = stablehlo.reshape %qkv : (tensor<8x96xf32>) -> tensor<8x3x4x8xf32>
  %1 = stablehlo.slice %0 [0:8, 1:2, 0:4, 0:8] : (tensor<8x3x4x8xf32>) -> tensor<8x1x4x8xf32>
  %2 = stablehlo.slice %0 [0:8, 2:3, 0:4, 0:8] : (tensor<8x3x4x8xf32>) -> tensor<8x1x4x8xf32>
  return %1, %2 : tensor<8x1x4x8xf32>, tensor<8x1x4x8xf32>
}

// CHECK-LABEL: func.func public @transposed
// CHECK: %[[QK:.*]] = stablehlo.slice %arg0 [0:8, 0:64]
// CHECK: %[[APART:.*]] = stablehlo.reshape %[[QK]] : (tensor<8x64xf32>) -> tensor<8x2x4x8xf32>
// CHECK: stablehlo.transpose %[[APART]], dims = [1, 2, 0, 3] : (tensor<8x2x4x8xf32>) -> tensor<2x4x8x8xf32>
func.func public @transposed(%qkv: tensor<8x96xf32>) -> tensor<2x4x8x8xf32> {
  %0 = stablehlo.reshape %qkv : (tensor<8x96xf32>) -> tensor<8x3x4x8xf32>
  %1 = stablehlo.transpose %0, dims = [1, 2, 0, 3] : (tensor<8x3x4x8xf32>) -> tensor<3x4x8x8xf32>
  %2 = stablehlo.slice %1 [0:2, 0:4, 0:8, 0:8] : (tensor<3x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %2 : tensor<2x4x8x8xf32>
}

// Every second part is no range, heads are no factor that comes first, and who reads all of it reads the reshape.
// CHECK-LABEL: func.func public @other
// CHECK: stablehlo.slice {{.*}} [0:8, 0:3:2, 0:4, 0:8]
// CHECK: stablehlo.slice {{.*}} [0:8, 0:3, 0:1, 0:8]
// CHECK: stablehlo.slice {{.*}} [0:8, 0:1, 0:4, 0:8]
func.func public @other(%a: tensor<8x96xf32>, %b: tensor<8x96xf32>, %c: tensor<8x96xf32>)
    -> (tensor<8x2x4x8xf32>, tensor<8x3x1x8xf32>, tensor<8x1x4x8xf32>, tensor<8x3x4x8xf32>) {
  %0 = stablehlo.reshape %a : (tensor<8x96xf32>) -> tensor<8x3x4x8xf32>
  %1 = stablehlo.slice %0 [0:8, 0:3:2, 0:4, 0:8] : (tensor<8x3x4x8xf32>) -> tensor<8x2x4x8xf32>
  %2 = stablehlo.reshape %b : (tensor<8x96xf32>) -> tensor<8x3x4x8xf32>
  %3 = stablehlo.slice %2 [0:8, 0:3, 0:1, 0:8] : (tensor<8x3x4x8xf32>) -> tensor<8x3x1x8xf32>
  %4 = stablehlo.reshape %c : (tensor<8x96xf32>) -> tensor<8x3x4x8xf32>
  %5 = stablehlo.slice %4 [0:8, 0:1, 0:4, 0:8] : (tensor<8x3x4x8xf32>) -> tensor<8x1x4x8xf32>
  return %1, %3, %5, %4 : tensor<8x2x4x8xf32>, tensor<8x3x1x8xf32>, tensor<8x1x4x8xf32>, tensor<8x3x4x8xf32>
}
