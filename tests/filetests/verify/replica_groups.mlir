// Each device is in one group, and all groups have one size.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0214]: stablehlo.all_gather has device 1 in its groups twice
// CHECK: error[SH0214]: stablehlo.all_gather has only 2 of 4 devices in its groups
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%a: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
