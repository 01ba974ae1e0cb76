// Annotations that only a partitioner needs are removed: meshes, shardings, constraints, groups, sharding custom calls.
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --implicit-check-not=sdy --implicit-check-not=harding
// RUN: shardc opt %s --passes legalize-backend --spmd-mode partition | FileCheck %s --check-prefix=MANUAL --implicit-check-not=sdy

// CHECK: module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32}
// MANUAL: module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}
sdy.mesh @mesh = <["x"=8]>

// CHECK: func.func @main(%arg0: tensor<8xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<8xf32> {jax.result_info = "y"})
// MANUAL: func.func @main(%arg0: tensor<8xf32> {mhlo.sharding = "{manual}", tf.aliasing_output = 0 : i32}) -> (tensor<8xf32> {jax.result_info = "y", mhlo.sharding = "{manual}"})
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, tf.aliasing_output = 0 : i32})
    -> (tensor<8xf32> {jax.result_info = "y"}) {
  %0 = sdy.sharding_constraint %x <@mesh, [{}]> : tensor<8xf32>
  sdy.sharding_group %0 group_id=1 : tensor<8xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: %0 = stablehlo.negate %arg0 : tensor<8xf32>
  // MANUAL-NEXT: %0 = stablehlo.negate %arg0 {mhlo.sharding = "{manual}"} : tensor<8xf32>
  %2 = stablehlo.negate %1 {mhlo.sharding = "{replicated}"} : tensor<8xf32>
  // CHECK-NEXT: return %0
  return %2 : tensor<8xf32>
}
