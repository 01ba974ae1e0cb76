// Pure operations are not ordered among each other: two all-reduces are combined although each depends on a CHLO
// operation.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK: "stablehlo.all_reduce"
  // CHECK-NOT: "stablehlo.all_reduce"
  // CHECK: return
  func.func @main(%a: tensor<4xf32>, %b: tensor<6xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<6xf32>) {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = chlo.broadcast_multiply %0, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = chlo.broadcast_multiply %b, %s : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<6xf32>) -> tensor<6xf32>
    return %1, %3 : tensor<4xf32>, tensor<6xf32>
  }
}
