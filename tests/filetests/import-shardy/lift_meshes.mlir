// RUN: shardc opt %s --passes sdy-lift-inlined-meshes | FileCheck %s

// The first of several equal meshes is kept; an inlined mesh gets an unused name.
// CHECK: sdy.mesh @first = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
// CHECK-NOT: @again
// CHECK-NEXT: sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}], device_ids = dense<[1, 0]> : tensor<2xi64>}}
// CHECK-NEXT: sdy.mesh @mesh_0 = <["z"=8]>
// CHECK-NEXT: sdy.mesh @maximal_mesh_5 = <[], device_ids=[5]>
// CHECK-NEXT: sdy.mesh @mesh_1 = <["w"=2]>
sdy.mesh @first = <["x"=2, "y"=4]>
sdy.mesh @again = <["x"=2, "y"=4]>
sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>

// CHECK: func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@first, [{"y"}]>})
// CHECK-SAME: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh_0, [{"z"}]>})
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@again, [{"y"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["z"=8]>, [{"z"}]>}) {
  // CHECK-NEXT: stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}]>]>} : tensor<8xf32>
  // CHECK-NEXT: stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_5, []>]>}
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[5]>, []>]>} : tensor<8xf32>
  // CHECK-NEXT: sdy.sharding_constraint %1 <@mesh_0, [{}]>
  %2 = sdy.sharding_constraint %1 <mesh<["z"=8]>, [{}]> : tensor<8xf32>
  // CHECK-NEXT: stablehlo.custom_call @log(%2) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_5, []>]>}
  stablehlo.custom_call @log(%2) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[5]>, []>]>} : (tensor<8xf32>) -> ()
  // CHECK: replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_1, axes = [#stablehlo.axis_ref<name = "w">]>
  %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "w", size = 2>]>, axes = [#stablehlo.axis_ref<name = "w">]>}> : (tensor<8xf32>) -> tensor<16xf32>
  return %2 : tensor<8xf32>
}
