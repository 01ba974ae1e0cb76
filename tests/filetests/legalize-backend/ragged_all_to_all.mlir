// XLA's CPU client has no ragged_all_to_all, and no XLA compiler supports it between replicas: operands are
// all-gathered, and a mask selects the received rows.
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' | FileCheck %s
// RUN: shardc opt %s --passes 'legalize-backend{target=tpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend --spmd-mode partition | FileCheck %s --check-prefix=PARTITIONS

// PARTITIONS: @ragged_all_to_all
// CHECK-NOT: @ragged_all_to_all
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
func.func @main(%x: tensor<4x4xf32>, %init: tensor<8x4xf32>, %in: tensor<2xi32>, %send: tensor<2xi32>, %out: tensor<2xi32>, %receive: tensor<2xi32>) -> tensor<8x4xf32> {
  // CHECK: "stablehlo.all_to_all"(%arg2)
  // CHECK: "stablehlo.all_to_all"(%arg4)
  // CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%arg0){{.*}} -> tensor<8x4xf32>
  // CHECK: %[[ROWS:.*]] = "stablehlo.gather"(%[[ALL]]
  // CHECK: stablehlo.select %{{.*}}, %[[ROWS]], %arg1
  %0 = stablehlo.custom_call @ragged_all_to_all(%x, %init, %in, %send, %out, %receive) {api_version = 4 : i32, backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}
