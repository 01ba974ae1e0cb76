// Equal collectives are merged, also with one in a nested branch; dead ones are removed, and one that only looks equal is kept.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s --implicit-check-not=stablehlo.all_gather --implicit-check-not=stablehlo.all_to_all

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%p: tensor<i1>, %a: tensor<4x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
    // CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%arg1) {{.*}}all_gather_dim = 0
    // CHECK: %[[PAIRS:.*]] = "stablehlo.all_gather"(%arg1) {{.*}}dense<{{\[}}[0, 1], [2, 3]]>
    // CHECK: "stablehlo.if"
    // CHECK: stablehlo.add %[[ALL]], %[[ALL]]
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %dead = "stablehlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<16x2xf32>
    %2 = "stablehlo.if"(%p) ({
      %x = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
      %y = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
      %z = stablehlo.add %x, %y : tensor<16x8xf32>
      stablehlo.return %z : tensor<16x8xf32>
    }, {
      %x = stablehlo.concatenate %1, %1, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
      stablehlo.return %x : tensor<16x8xf32>
    }) : (tensor<i1>) -> tensor<16x8xf32>
    return %0, %2 : tensor<16x8xf32>, tensor<16x8xf32>
  }
}
