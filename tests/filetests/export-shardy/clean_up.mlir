// Operations and attributes that only propagation needs are removed.
// RUN: shardc opt %s --passes sdy-remove-sharding-groups,sdy-sharding-constraint-to-reshard,sdy-drop-sharding-rules,sdy-remove-propagation-debug-info | FileCheck %s
// RUN: shardc opt %s --passes sdy-inline-meshes | FileCheck %s --check-prefix=INLINE
// RUN: shardc opt %s --passes sdy-drop-sharding-and-mesh | FileCheck %s --check-prefix=DROP

// INLINE-NOT: sdy.mesh
// DROP-NOT: sdy.mesh
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @turned = <["x"=2], device_ids=[1, 0]>
sdy.mesh @one = <[], device_ids=[3]>

// CHECK: func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32>
// INLINE: func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>,
// DROP: func @main(%arg0: tensor<8xf32> {sdy.sharding_origins =
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, sdy.sharding_origins = {x = "self"}}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %arg0 <@turned, [{"x"}]> {note}
  // INLINE-NEXT: sdy.sharding_constraint %arg0 <mesh<["x"=2], device_ids=[1, 0]>, [{"x"}]>
  %0 = sdy.sharding_constraint %a <@turned, [{"x"}]> {note} : tensor<8xf32>
  // CHECK-NEXT: stablehlo.sine %[[R]] : tensor<8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
  %1 = stablehlo.sine %0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : tensor<8xf32>
  // A rule that the program gives stays.
  // CHECK-NEXT: custom_call @f({{.*}} {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>}
  %2 = stablehlo.custom_call @f(%1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8xf32>) -> tensor<8xf32>
  // INLINE: custom_call @g({{.*}} {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[3]>, []>]>}
  // DROP: custom_call @g({{.*}} {has_side_effect = true} :
  stablehlo.custom_call @g(%2) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8xf32>) -> ()
  // INLINE: replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>, axes = [#stablehlo.axis_ref<name = "x">]>
  %3 = "stablehlo.all_to_all"(%2) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @turned, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
