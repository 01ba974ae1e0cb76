// A transpose permutes the axes; a reshape keeps an axis on the major one of the dimensions that it splits into.
// RUN: shardc propagate %s | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: stablehlo.transpose {{.*}}<@mesh, [{}, {"x"}]>
// CHECK: stablehlo.reshape {{.*}}<@mesh, [{}, {"x"}, {}]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6x4x2xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<6x8xf32>) -> tensor<6x4x2xf32>
  return %1 : tensor<6x4x2xf32>
}
