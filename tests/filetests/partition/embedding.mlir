// A lookup in a table with sharded rows: each device subtracts its offset from the indices, looks up local rows, uses
// zero for rows of other devices, and an all-reduce gives the result.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>) -> tensor<16x8xf32> {
// CHECK: %[[IDS:.*]] = stablehlo.clamp %{{.*}}, %arg1, %{{.*}} : tensor<16x1xi32>
// CHECK: %[[ID:.*]] = stablehlo.replica_id : tensor<ui32>
// CHECK: %[[LOCAL:.*]] = stablehlo.subtract %[[IDS]], %{{.*}} : tensor<16x1xi32>
// CHECK-DAG: stablehlo.compare GE, %[[LOCAL]],
// CHECK-DAG: stablehlo.compare LT, %[[LOCAL]],
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%arg0, %[[LOCAL]]) {{.*}} slice_sizes = array<i64: 1, 8>
// CHECK: %[[OWN:.*]] = stablehlo.select %{{.*}}, %[[ROWS]], %{{.*}} : tensor<16x8xi1>, tensor<16x8xf32>
// CHECK-NEXT: "stablehlo.all_reduce"(%[[OWN]]) <{replica_groups = dense<{{\[}}[0, 1, 2, 3]]>
sdy.mesh @mesh = <["vocab"=4]>
func.func @main(%table: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"vocab"}, {}]>}, %ids: tensor<16x1xi32>) -> tensor<16x8xf32> {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
