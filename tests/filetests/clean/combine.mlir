// Small independent collectives are combined. All-reduces between replicas get several operands; other operands are
// concatenated. Dependent collectives are not combined.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s --implicit-check-not=stablehlo.all_ --implicit-check-not=stablehlo.collective_ --implicit-check-not=stablehlo.reduce_scatter

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK: func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<3xf32>)
  func.func @main(%a: tensor<4x8xf32>, %b: tensor<3xf32>) -> (tensor<4x8xf32>, tensor<3xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<3xf32>) {
    // CHECK-DAG: %[[SUMS:.*]]:2 = "stablehlo.all_reduce"(%arg0, %arg1)
    // CHECK-DAG: "stablehlo.all_reduce"(%{{.*}}) {{.*}}
    // CHECK-DAG: "stablehlo.reduce_scatter"(%{{.*}}) {{.*}}scatter_dimension = 0{{.*}}
    // CHECK-DAG: (tensor<4x16xf32>) -> tensor<1x16xf32>
    // CHECK-DAG: "stablehlo.collective_permute"(%{{.*}}) {{.*}} : (tensor<1x35xf32>) -> tensor<1x35xf32>
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %r, %l : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    // The largest of sums.
    %2 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.maximum %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x2xf32>
    %4 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %5 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<3xf32>) -> tensor<3xf32>
    return %0, %1, %2, %3, %4, %5, %6 : tensor<4x8xf32>, tensor<3xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<3xf32>
  }
}
