// Consecutive permutes over all devices are composed, across elementwise operations. They stay separate if a device
// receives nothing, or if the intermediate value has another user.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK: %[[A:.*]] = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<{{\[\[}}0, 0], [3, 1], [2, 2], [1, 3]]>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.reverse %[[A]], dims = [0]
  // CHECK-NEXT: %[[B:.*]] = "stablehlo.collective_permute"(%arg1)
  // CHECK-NEXT: %[[B2:.*]] = "stablehlo.collective_permute"(%[[B]])
  // CHECK-NEXT: %[[C:.*]] = "stablehlo.collective_permute"(%arg2)
  // CHECK-NEXT: %[[C2:.*]] = "stablehlo.collective_permute"(%[[C]])
  // CHECK-NEXT: return %[[R]], %[[B2]], %[[C]], %[[C2]]
  func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xi8>) {
    %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[1, 0], [0, 1], [3, 2], [2, 3]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %4 = "stablehlo.collective_permute"(%3) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %5 = "stablehlo.collective_permute"(%c) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xi8>) -> tensor<4xi8>
    %6 = "stablehlo.collective_permute"(%5) <{source_target_pairs = dense<[[1, 0], [0, 1], [3, 2], [2, 3]]> : tensor<4x2xi64>}> : (tensor<4xi8>) -> tensor<4xi8>
    return %2, %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xi8>
  }
}
