// The estimate is an interval around an expected value. The causes add up to its width.
// RUN: shardc memory %s --mesh x=1 | FileCheck %s
func.func @main(%x: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<8192x8192xf32>
  %1 = stablehlo.cholesky %0, lower = true : tensor<8192x8192xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<8192x8192xf32>
  return %2 : tensor<8192x8192xf32>
}
// CHECK: arguments 256.0 MiB, outputs 256.0 MiB (0 B in place), temporaries 512.0 MiB
// CHECK-NEXT: expected 1.0 GiB, at least 928.0 MiB, at most 1.1 GiB
// CHECK-NEXT: width by cause: fusion 0 B, schedule 0 B, allocation 46.5 MiB, fast memory 64.0 MiB, other 64.0 MiB
