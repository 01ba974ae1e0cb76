// An operation that only produces a result runs as soon as its operand is computed.
// RUN: shardc memory %s --mesh x=1 --target cpu --stage schedule | FileCheck %s
// RUN: shardc memory %s --mesh x=1 --target cpu --stage schedule --without early-results | FileCheck %s --check-prefix=ORDER
func.func @main(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = stablehlo.cholesky %x, lower = true : tensor<16x16xf32>
  %1 = stablehlo.cholesky %0, lower = true : tensor<16x16xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<16x16xf32>
  %3 = stablehlo.cholesky %0, lower = false : tensor<16x16xf32>
  return %2, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK: schedule @main
// CHECK-NEXT: step 1: 1 stablehlo.cholesky
// CHECK-NEXT: step 2: 4 stablehlo.cholesky
// ORDER: step 4: 4 stablehlo.cholesky
