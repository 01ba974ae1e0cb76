// Shardings on a mesh with another device order are written on a mesh whose axes have prime sizes.
// RUN: shardc partition %s --manual-computation -o - | FileCheck %s

// CHECK: sdy.mesh @mesh = <["x_0"=2, "x_1"=2], device_ids=[0, 2, 1, 3]>
// CHECK: func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x_0", "x_1"}]>})
// CHECK-SAME: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x_1", "x_0"}]>})
// CHECK: manual_axes={"x_0", "x_1"}
// CHECK: source_target_pairs = dense<{{\[\[}}0, 0], [2, 1], [1, 2], [3, 3]]>

sdy.mesh @mesh = <["x"=4], device_ids=[0, 2, 1, 3]>
sdy.mesh @other = <["a"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"a"}]>}) {
  return %x : tensor<8xf32>
}
