// Data parallelism: each device multiplies its shard of the batch, and an all-reduce over the data axis sums the
// gradient. Devices 0 and 1 have the same data, so they are in different groups.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc partition %s -o - --spmd-mode partition | FileCheck %s --check-prefix=PARTITION

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32}
// CHECK-NOT: sdy
// CHECK: func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %[[PART:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = "stablehlo.all_reduce"(%[[PART]]) <{replica_groups = dense<{{\[}}[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}> ({
// CHECK: stablehlo.add
// CHECK: return %[[SUM]]

// PARTITION: module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}
// PARTITION: "stablehlo.all_reduce"({{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = {{[0-9]+}}, type = 1>, replica_groups = dense<{{\[}}[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %dy: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x8xf32> {
  %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %dw : tensor<8x8xf32>
}
