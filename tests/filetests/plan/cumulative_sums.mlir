// A cumulative sum takes two steps: of each shard, and of the shards' totals, of which every device all-gathers one row.
// RUN: shardc opt %s --passes propagate,plan -split-input-file -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN --allow-empty < %t.err

// WARN-NOT: warning

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<6x64xf32>
// CHECK: %[[BLOCKS:.*]] = stablehlo.reshape %arg0 {{.*}} -> tensor<6x4x16xf32>
// CHECK: %[[WITHIN:.*]] = "stablehlo.reduce_window"(%[[BLOCKS]]
// CHECK-SAME: padding = dense<{{\[}}[0, 0], [0, 0], [15, 0]]>
// CHECK: %[[LAST:.*]] = stablehlo.slice %[[WITHIN]] [0:6, 0:4, 15:16]
// CHECK: %[[TOTALS:.*]] = sdy.reshard %[[LAST]] <@mesh, [{}, {}, {}]> : tensor<6x4x1xf32>
// CHECK: %[[BEFORE:.*]] = stablehlo.pad %[[TOTALS]], %{{.*}}, low = [0, 1, 0], high = [0, -1, 0]
// CHECK: %[[RUN:.*]] = "stablehlo.reduce_window"(%[[BEFORE]]
// CHECK: %[[ALL:.*]] = stablehlo.broadcast_in_dim
// CHECK: %[[SUM:.*]] = stablehlo.add %[[ALL]], %[[WITHIN]]
// CHECK-SAME: [{}, {"x"}, {}]
// CHECK: stablehlo.reshape %[[SUM]] {{.*}} -> tensor<6x64xf32>
func.func @main(%a: tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[0, 0], [63, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x64xf32>, tensor<f32>) -> tensor<6x64xf32>
  return %0 : tensor<6x64xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// Backward, and in blocks that are not full.
// CHECK-LABEL: func.func @main(%arg0: tensor<26xf32>
// CHECK: stablehlo.pad %arg0, %{{.*}}, low = [0], high = [2]
// CHECK: stablehlo.slice %{{.*}} [0:4, 0:1]
// CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [-1, 0], high = [1, 0]
// CHECK: stablehlo.maximum
// CHECK: stablehlo.slice %{{.*}} [0:26]
func.func @main(%a: tensor<26xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<26xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %low) <{padding = dense<[[0, 25]]> : tensor<1x2xi64>, window_dimensions = array<i64: 26>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.maximum %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<26xf32>, tensor<f32>) -> tensor<26xf32>
  return %0 : tensor<26xf32>
}
