// If a part of a combined reduce-scatter has a user before the all-reduce, it is sliced off first, and so is the rest.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s --implicit-check-not=stablehlo.all_reduce --implicit-check-not=stablehlo.reduce_scatter

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%a: tensor<4x8xf32>, %b: tensor<6xf32>, %c: tensor<3x2xf32>) -> (tensor<4x4xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<3xf32>) {
    // CHECK: "stablehlo.reduce_scatter"
    // CHECK: (tensor<2x19xf32>) -> tensor<1x19xf32>
    // CHECK: "stablehlo.all_reduce"
    // CHECK: (tensor<4x4xf32>, tensor<3xf32>, tensor<3x2xf32>) -> (tensor<4x4xf32>, tensor<3xf32>, tensor<3x2xf32>)
    %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.reduce_scatter"(%b) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6xf32>) -> tensor<3xf32>
    %2 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    %4 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3x2xf32>) -> tensor<3x2xf32>
    return %2, %3, %4, %1 : tensor<4x4xf32>, tensor<3xf32>, tensor<3x2xf32>, tensor<3xf32>
  }
}
