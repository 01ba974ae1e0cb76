// Buffers are live from their producer to their last user. The heap of a plain machine has no gaps.
// RUN: shardc memory %s --mesh x=1 --target cpu --stage buffers | FileCheck %s
// RUN: shardc memory %s --mesh x=1 --target cpu --stage allocate | FileCheck %s --check-prefix=HEAP
func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<16x16xf32>
  %1 = stablehlo.cholesky %0, lower = true : tensor<16x16xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<16x16xf32>
  %3 = stablehlo.add %2, %0 : tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}
// CHECK: buffers @main
// CHECK-NEXT: steps 1 to 4: 1024 bytes, stablehlo.cholesky tensor<16x16xf32>
// CHECK-NEXT: steps 2 to 3: 1024 bytes, stablehlo.cholesky tensor<16x16xf32>
// HEAP: allocate @main
// HEAP-NEXT: live: 3072 bytes at step 3
