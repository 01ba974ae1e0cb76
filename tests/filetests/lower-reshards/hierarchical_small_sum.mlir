// Even a small sum is reduced within nodes first, so that nodes exchange only each device's part.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["node"=2, "fsdp"=4]>

// CHECK: %[[PENDING:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[PART:.*]] = sdy.reduce_scatter [{"fsdp"}, {}] %[[PENDING]] out_sharding=<@mesh, [{"fsdp"}, {}], unreduced={"node"}> : tensor<8x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = sdy.all_reduce {"node"} %[[PART]] out_sharding=<@mesh, [{"fsdp"}, {}]> : tensor<8x4xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node", "fsdp"}, {}]>}, %y: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node", "fsdp"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"node", "fsdp"}>]>} : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = sdy.reshard %0 <@mesh, [{"fsdp"}, {}]> : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
