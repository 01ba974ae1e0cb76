// One row whose user needs another dimension sharded by the same axis: a reduce-scatter, and no device has the whole row.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK: %[[ROW:.*]] = stablehlo.slice %arg0 [5:6, 0:65536] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>}
// CHECK: %[[PART:.*]] = sdy.reshard %[[ROW]] <@mesh, [{}, {"x"}]>
// CHECK: stablehlo.reshape %[[PART]] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
func.func @main(%a: tensor<16x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [5:6, 0:65536] : (tensor<16x65536xf32>) -> tensor<1x65536xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x65536xf32>) -> tensor<65536xf32>
  return %1 : tensor<65536xf32>
}
