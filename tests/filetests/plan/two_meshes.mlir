// Meshes over the same devices are merged into one whose axes are their common sub-axes; an axis in a sharding is
// replaced by its parts. If one of the program's meshes is fine enough, it is used.
// RUN: shardc opt %s --split-input-file --passes propagate,plan | FileCheck %s

sdy.mesh @rows = <["a"=4, "b"=2]>
sdy.mesh @cols = <["c"=2, "d"=4]>
// CHECK: sdy.mesh @rows_parts = <["a_2"=2, "a_1"=2, "b"=2]>
// CHECK: %arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@rows_parts, [{"a_2", "a_1"}, {}]>}
// CHECK: sdy.reshard {{.*}} <@rows_parts, [{"a_2"}, {"a_1", "b"}]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@rows, [{"a"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@cols, [{"c"}, {"d"}]>}) {
  %0 = stablehlo.sine %x : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// -----

sdy.mesh @flat = <["x"=8]>
sdy.mesh @mesh = <["m"=4, "f"=2]>
// CHECK: %arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m", "f"}, {}]>}
// CHECK: sdy.reshard {{.*}} <@mesh, [{"m"}, {"f"}]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@flat, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {"f"}]>}) {
  %0 = stablehlo.sine %x : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
