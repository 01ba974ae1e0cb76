// Axes that are added: each device slices its shard, without communication.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>

// CHECK: %0 = sdy.all_slice [{"b"}, {"c"}] %arg0 out_sharding=<@mesh, [{"a", "b"}, {"c"}]> : tensor<16x16xf32>
// CHECK-NEXT: return %0
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<16x16xf32> {
  %0 = sdy.reshard %x <@mesh, [{"a", "b"}, {"c"}]> : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
