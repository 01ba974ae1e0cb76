// On a TPU, an all-gather runs beside the matmul before it, so its result has memory from that step on.
// RUN: shardc memory %s --target v5e --stage buffers | FileCheck %s
// RUN: shardc memory %s --target v5e --stage buffers --without early-gathers | FileCheck %s --check-prefix=ORDER
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<1024x1024xf32>, %p: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %0 = stablehlo.cholesky %x, lower = true : tensor<1024x1024xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<1024x1024xf32>
  %3 = stablehlo.cholesky %p, lower = true : tensor<1024x1024xf32>
  %4 = stablehlo.cholesky %3, lower = true : tensor<1024x1024xf32>
  return %2, %4 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
// CHECK: steps 2 to 3: 4194304 bytes, stablehlo.dot_general
// CHECK: steps 2 to 5: 4194304 bytes, stablehlo.all_gather
// ORDER: steps 2 to 3: 4194304 bytes, stablehlo.dot_general
// ORDER: steps 4 to 5: 4194304 bytes, stablehlo.all_gather
