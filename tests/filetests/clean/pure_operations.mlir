// Pure CHLO operations, maps and deprecated forms are treated like other operations: loop-invariant ones are hoisted
// with a collective, equal ones are merged, and they do not prevent combining.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK: func.func @main
  // CHECK: %[[SCALED:.*]] = chlo.broadcast_multiply %arg0, %arg1
  // CHECK-NEXT: %[[MAPPED:.*]] = chlo.square %[[SCALED]]
  // CHECK-NEXT: "stablehlo.all_gather"(%[[MAPPED]])
  // CHECK: stablehlo.while
  // CHECK: do {
  // CHECK-NOT: "stablehlo.all_gather"
  // CHECK: stablehlo.dot_general
  // CHECK: %[[LARGEST:.*]], %{{.*}} = chlo.top_k(%arg0, k = 2)
  // CHECK-NEXT: stablehlo.add %[[LARGEST]], %[[LARGEST]]
  func.func @main(%w: tensor<2x8xf32>, %f: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<2x2xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %some = stablehlo.constant dense<0.5> : tensor<8x8xf32>
    %0:2 = stablehlo.while(%i = %zero, %state = %some) : tensor<i32>, tensor<8x8xf32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %scaled = chlo.broadcast_multiply %w, %f : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
      %square = chlo.square %scaled : tensor<2x8xf32> -> tensor<2x8xf32>
      %all = "stablehlo.all_gather"(%square) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x8xf32>) -> tensor<8x8xf32>
      %y = stablehlo.dot_general %state, %all, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      stablehlo.return %next, %y : tensor<i32>, tensor<8x8xf32>
    }
    %1:2 = chlo.top_k(%w, k = 2) : tensor<2x8xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %2:2 = chlo.top_k(%w, k = 2) : tensor<2x8xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %3 = stablehlo.add %1#0, %2#0 : tensor<2x2xf32>
    return %0#1, %3 : tensor<8x8xf32>, tensor<2x2xf32>
  }
}
