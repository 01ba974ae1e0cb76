// An unreduced sum is completed by an all-reduce, or by a reduce-scatter if the target sharding has the axis.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK: %[[PENDING:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[SUM:.*]] = sdy.all_reduce {"a"} %[[PENDING]] out_sharding=<@mesh, [{}, {}]> : tensor<16x16xf32>
// CHECK-NEXT: %[[BLOCK:.*]] = sdy.reduce_scatter [{}, {"a"}] %[[PENDING]] out_sharding=<@mesh, [{}, {"a"}]> : tensor<16x16xf32>
// CHECK-NEXT: return %[[SUM]], %[[BLOCK]]
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"a"}>]>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<16x16xf32>
  %2 = sdy.reshard %0 <@mesh, [{}, {"a"}]> : tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}
