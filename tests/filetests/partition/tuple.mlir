// Tuple elements stay sharded, and may be annotated.
// RUN: shardc partition %s --strict -o - | FileCheck %s --implicit-check-not=tuple --implicit-check-not=all_gather

sdy.mesh @mesh = <["x"=4]>

// CHECK: func.func @main(%[[A:.*]]: tensor<2x8xf32>, %[[B:.*]]: tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: %[[R:.*]] = stablehlo.subtract %[[B]], %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @main(
    %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.tuple %a, %b : tuple<tensor<8x8xf32>, tensor<8x8xf32>>
  %1 = stablehlo.get_tuple_element %0[0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tuple<tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<8x8xf32>
  %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<8x8xf32>
  %3 = stablehlo.subtract %2, %1 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
