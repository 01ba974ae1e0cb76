// RUN: shardc partition %s -o - | FileCheck %s

// In a ragged_dot, sharded columns are local, and a sharded contracting dimension gives unreduced sums; padding
// contributes nothing on either side.

sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-LABEL: func.func public @main
func.func public @main(%a: tensor<12x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<3x10x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}]>}, %n: tensor<3xi32>) -> tensor<12x8xf32> {
  // CHECK-NOT: all_gather
  // CHECK: %[[A:.*]] = stablehlo.select %{{.*}}, %arg0, %{{.*}} : tensor<12x3xi1>, tensor<12x3xf32>
  // CHECK: %[[B:.*]] = stablehlo.select %{{.*}}, %arg1, %{{.*}} : tensor<3x3x4xi1>, tensor<3x3x4xf32>
  // CHECK: %[[PART:.*]] = "chlo.ragged_dot"(%[[A]], %[[B]], %arg2) {{.*}} -> tensor<12x4xf32>
  // CHECK: "stablehlo.all_reduce"(%[[PART]]) <{replica_groups = dense<{{\[\[}}0, 2, 4, 6], [1, 3, 5, 7]]>
  // CHECK-NOT: all_gather
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x10xf32>, tensor<3x10x8xf32>, tensor<3xi32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
