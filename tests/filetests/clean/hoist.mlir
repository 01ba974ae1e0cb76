// A loop-invariant all-gather is hoisted if the loop runs at least
// once, and if memory permits to keep the result.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s
// RUN: shardc partition %S/../../programs/small/loop_gathers_weight.mlir -o %t --summary 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: shardc partition %S/../../programs/small/loop_gathers_weight.mlir -o %t --summary --keep-bytes 255 2>&1 | FileCheck %s --check-prefix=KEPT --implicit-check-not=cleaned

// SUMMARY: all_gather 1 0 1 192 B
// SUMMARY: collectives cleaned up: 1 moved out of loops
// KEPT: all_gather 1 1 5 960 B
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK: func.func @main
  // CHECK-NEXT: stablehlo.constant dense<0>
  // CHECK: %[[HALF:.*]] = stablehlo.convert %arg0
  // CHECK-NEXT: %[[W:.*]] = "stablehlo.all_gather"(%[[HALF]])
  // CHECK: stablehlo.while
  // CHECK: %[[PART:.*]] = stablehlo.slice %iterArg
  // CHECK-NEXT: "stablehlo.all_gather"(%[[PART]])
  // CHECK: stablehlo.dot_general %{{.*}}, %[[W]]
  // CHECK: stablehlo.while
  // CHECK: do {
  // CHECK: "stablehlo.all_gather"
  func.func @main(%w: tensor<2x8xf32>, %x: tensor<2x8xbf16>, %n: tensor<i32>) -> (tensor<8x8xbf16>, tensor<8x8xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %some = stablehlo.constant dense<0.5> : tensor<8x8xbf16>
    %0:3 = stablehlo.while(%i = %zero, %weight = %w, %state = %some) : tensor<i32>, tensor<2x8xf32>, tensor<8x8xbf16>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %half = stablehlo.convert %weight : (tensor<2x8xf32>) -> tensor<2x8xbf16>
      %all = "stablehlo.all_gather"(%half) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x8xbf16>) -> tensor<8x8xbf16>
      %part = stablehlo.slice %state [0:2, 0:8] : (tensor<8x8xbf16>) -> tensor<2x8xbf16>
      %mine = "stablehlo.all_gather"(%part) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x8xbf16>) -> tensor<8x8xbf16>
      %y = stablehlo.dot_general %mine, %all, contracting_dims = [1] x [0] : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
      stablehlo.return %next, %weight, %y : tensor<i32>, tensor<2x8xf32>, tensor<8x8xbf16>
    }
    // This one may not run at all.
    %start = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %1:2 = stablehlo.while(%i = %zero, %state = %start) : tensor<i32>, tensor<8x8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %all = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x8xf32>) -> tensor<8x8xf32>
      %y = stablehlo.add %state, %all : tensor<8x8xf32>
      stablehlo.return %next, %y : tensor<i32>, tensor<8x8xf32>
    }
    return %0#2, %1#1 : tensor<8x8xbf16>, tensor<8x8xf32>
  }
}
