// A reshard without effect is removed.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>

// CHECK-NOT: sdy.reshard
// CHECK: return %arg0
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<16x16xf32> {
  %0 = sdy.reshard %x <@mesh, [{"a"}, {}]> : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
