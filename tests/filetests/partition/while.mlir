// A loop: its carried values are sharded by propagation, and the collective is in its body.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[STATE:.*]] = %arg0) : tensor<i32>, tensor<4x4xf32>
// CHECK: cond {
// CHECK: } do {
// CHECK: %[[PART:.*]] = stablehlo.dot_general %[[STATE]], %arg1, {{.*}} : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT: %[[BLOCK:.*]] = "stablehlo.reduce_scatter"(%[[PART]]) <{{.*}}scatter_dimension = 1 : i64}>
// CHECK: stablehlo.sine %[[BLOCK]] : tensor<4x4xf32>
sdy.mesh @mesh = <["model"=4]>
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<4x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %state = %x) : tensor<i32>, tensor<4x16xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dot_general %state, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.sine %2 : tensor<4x16xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<4x16xf32>
  }
  return %0#1 : tensor<4x16xf32>
}
