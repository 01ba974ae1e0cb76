// A row of a tensor is subtracted from each of its rows: all devices get the row, and the tensor keeps its sharding.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK: %[[ROW:.*]] = stablehlo.slice %arg0 [7:8, 0:65536] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>}
// CHECK: %[[WHOLE:.*]] = sdy.reshard %[[ROW]] <@mesh, [{}, {}]>
// CHECK: %[[EACH:.*]] = stablehlo.broadcast_in_dim %[[WHOLE]], dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
// CHECK: stablehlo.subtract %arg0, %[[EACH]]
// CHECK-NOT: sdy.reshard
func.func @main(%a: tensor<16x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [7:8, 0:65536] : (tensor<16x65536xf32>) -> tensor<1x65536xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x65536xf32>) -> tensor<16x65536xf32>
  %2 = stablehlo.subtract %a, %1 : tensor<16x65536xf32>
  return %2 : tensor<16x65536xf32>
}
