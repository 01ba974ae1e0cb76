// A replicated value becomes unreduced: one device has the value, the others zeros. A sharded value becomes unreduced
// with zeros outside of each shard. Neither needs communication.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=2, "b"=2]>

// CHECK: %[[W:.*]] = sdy.replicated_to_unreduced {"a"} %arg0 out_sharding=<@mesh, [{}], unreduced={"a"}>
// CHECK-NEXT: %[[S:.*]] = sdy.sharded_to_unreduced [{"a"}] %arg1 out_sharding=<@mesh, [{}], unreduced={"a"}>
// CHECK-NEXT: %[[M:.*]] = sdy.sharded_to_unreduced [{"a"}] %arg1
// CHECK-NEXT: sdy.replicated_to_unreduced {"b"} %[[M]] out_sharding=<@mesh, [{}], unreduced={"a", "b"}>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = sdy.reshard %x <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
  %1 = sdy.reshard %y <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
  %2 = sdy.reshard %y <@mesh, [{}], unreduced={"a", "b"}> : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
