// An unreduced value of two large rows is resharded over twelve devices: a reduce-scatter would send twelve rows.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=12]>

// CHECK: %[[PENDING:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[SUM:.*]] = sdy.all_reduce {"a"} %[[PENDING]] out_sharding=<@mesh, [{}, {}]> : tensor<2x16777216xf32>
// CHECK-NEXT: %[[BLOCK:.*]] = sdy.all_slice [{"a"}, {}] %[[SUM]] out_sharding=<@mesh, [{"a"}, {}]> : tensor<2x16777216xf32>
// CHECK-NEXT: return %[[BLOCK]]
func.func @main(%x: tensor<12x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %y: tensor<12x16777216xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<2x16777216xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"a"}>]>} : (tensor<12x2xf32>, tensor<12x16777216xf32>) -> tensor<2x16777216xf32>
  %1 = sdy.reshard %0 <@mesh, [{"a"}, {}]> : tensor<2x16777216xf32>
  return %1 : tensor<2x16777216xf32>
}
