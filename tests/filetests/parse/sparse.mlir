// Sparse constants are kept as they are written.
// RUN: shardc opt %s | FileCheck %s

// CHECK: stablehlo.constant sparse<{{\[}}[0, 1], [1, 0]], [5, -6]> : tensor<2x2xi32>
// CHECK: stablehlo.constant sparse<1, 5> : tensor<2x2xi32>
// CHECK: stablehlo.constant sparse<> : tensor<2x2xi32>
func.func @right() {
  %0 = stablehlo.constant sparse<[[0, 1], [1, 0]], [5, -6]> : tensor<2x2xi32>
  %1 = stablehlo.constant sparse<1, 5> : tensor<2x2xi32>
  %2 = stablehlo.constant sparse<> : tensor<2x2xi32>
  return
}
