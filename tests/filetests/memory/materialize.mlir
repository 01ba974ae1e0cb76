// An element-wise operation with one use is fused into its user; without recomputation, one with two users is in memory.
// RUN: shardc memory %s --mesh x=1 --target cpu --stage materialize | FileCheck %s
// RUN: shardc memory %s --mesh x=1 --target cpu --stage materialize --without recompute | FileCheck %s --check-prefix=KEPT
func.func @main(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = stablehlo.cosine %x : tensor<16x16xf32>
  %1 = stablehlo.negate %0 : tensor<16x16xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<16x16xf32>
  %3 = stablehlo.add %2, %0 : tensor<16x16xf32>
  return %2, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK: materialize @main
// CHECK-NEXT: 1 stablehlo.cosine tensor<16x16xf32>: fused
// CHECK-NEXT: 2 stablehlo.negate tensor<16x16xf32>: in memory
// CHECK-NEXT: 3 stablehlo.cholesky tensor<16x16xf32>: in memory
// KEPT: 1 stablehlo.cosine tensor<16x16xf32>: in memory
