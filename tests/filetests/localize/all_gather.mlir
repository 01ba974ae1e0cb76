// A collective on a global value becomes one on local values, with a group for each position along the other axes.
// RUN: shardc opt %s --passes localize | FileCheck %s --check-prefixes=CHECK,REPLICA
// RUN: shardc opt %s --passes localize --spmd-mode partition | FileCheck %s --check-prefixes=CHECK,PARTITION

sdy.mesh @mesh = <["a"=2, "b"=2]>

// REPLICA: module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32}
// PARTITION: module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32}
// CHECK-NOT: sdy
// CHECK: func.func @main(%arg0: tensor<4x8xf32>{{.*}} -> {{.*}}tensor<8x8xf32>
// REPLICA: "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<{{\[}}[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
// PARTITION: "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[}}[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.all_gather [{"a"}, {}] %x out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
