// The backward pass of a loop rematerializes its layer behind a barrier on a table that is computed from a parameter
// before the loop: the table is all-gathered once. The parameter itself is intentionally all-gathered in each iteration.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK: %[[TABLE:.*]] = stablehlo.exponential %arg0
  // CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%[[TABLE]])
  // CHECK: stablehlo.while
  // CHECK: do {
  // CHECK: %[[B:.*]]:3 = stablehlo.optimization_barrier
  // CHECK-NEXT: %[[W:.*]] = "stablehlo.all_gather"(%[[B]]#1)
  // CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %[[B]]#2, %[[ALL]]
  // CHECK-NEXT: stablehlo.dot_general %[[Y]], %[[W]]
  func.func @main(%w: tensor<2x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %table = stablehlo.exponential %w : tensor<2x8xf32>
    %0:4 = stablehlo.while(%i = %zero, %t = %table, %weight = %w, %state = %x) : tensor<i32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %b:3 = stablehlo.optimization_barrier %t, %weight, %state : tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>
      %all = "stablehlo.all_gather"(%b#0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x8xf32>) -> tensor<8x8xf32>
      %again = "stablehlo.all_gather"(%b#1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x8xf32>) -> tensor<8x8xf32>
      %y = stablehlo.dot_general %b#2, %all, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %z = stablehlo.dot_general %y, %again, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      stablehlo.return %next, %t, %weight, %z : tensor<i32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>
    }
    return %0#3 : tensor<8x8xf32>
  }
}
