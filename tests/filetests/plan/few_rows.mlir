// If a few rows of a sharded dimension are needed replicated, or sharded along another dimension, a slice is a sum of each device's rows.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// Both rows are on two devices; the readers want them whole.
// CHECK-LABEL: func.func @rows_across_a_border
// CHECK: %[[ROWS:.*]] = stablehlo.slice %arg0 [7:9, 0:4096] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>}
// CHECK: sdy.reshard %[[ROWS]] <@mesh, [{}, {}]>
func.func @rows_across_a_border(%a: tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.slice %a [7:9, 0:4096] : (tensor<64x4096xf32>) -> tensor<2x4096xf32>
  %1 = stablehlo.negate %0 : tensor<2x4096xf32>
  return %1 : tensor<2x4096xf32>
}
