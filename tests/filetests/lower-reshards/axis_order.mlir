// The order of the axes of a dimension matters: swapping major and minor is a collective-permute.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>

// CHECK: %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"c", "a"}, {}]> : tensor<16x16xf32>
// CHECK-NEXT: return %0
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "c"}, {}]>}) -> tensor<16x16xf32> {
  %0 = sdy.reshard %x <@mesh, [{"c", "a"}, {}]> : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
