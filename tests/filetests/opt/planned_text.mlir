// The results of reshards are known when a planned program is parsed from text: the sum is completed after the transpose.
// RUN: shardc opt %s --passes merge-reductions | FileCheck %s

sdy.mesh @mesh = <["x"=4]>
// CHECK: %[[SUM:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[SUM]]
// CHECK-NEXT: sdy.reshard %[[T]]
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<4x6xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}
