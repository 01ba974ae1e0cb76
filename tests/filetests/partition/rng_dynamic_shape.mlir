// One device draws for all, and the others add zeros; the size is unknown.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0315]: the result of stablehlo.rng has type tensor<?xf32>, which has a dynamic dimension
// CHECK: help: give it a static shape
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<f32>, %b: tensor<f32>, %shape: tensor<1xi64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<?xf32> {
  %0 = stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
