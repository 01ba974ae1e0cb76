// Groups along axes of a mesh with fewer device ids than its size.
// RUN: not shardc verify %s 2>&1 | FileCheck %s

// CHECK: error[SH0211]
// CHECK-NOT: panicked
sdy.mesh @mesh = <["x"=3], device_ids=[1, 0]>
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 1 : i64, split_dimension = 0 : i64}> : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
