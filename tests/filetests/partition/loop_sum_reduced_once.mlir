// An exchange would send less than the all-reduce, but in each iteration; the accumulated sum is all-reduced once, after the loop.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["data"=8]>

// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.all_to_all
// CHECK-NOT: stablehlo.reduce_scatter
// CHECK: stablehlo.return %{{.*}}, %{{.*}}, %{{.*}} : tensor<12x1x32xf32>, tensor<i32>, tensor<32xf32>
// CHECK: stablehlo.reduce_scatter
// CHECK-SAME: scatter_dimension = 0
func.func @main(%x: tensor<12x8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}p0, {}]>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p1]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %r:3 = stablehlo.while(%rows = %x, %i = %zero, %sum = %none) : tensor<12x8x32xf32>, tensor<i32>, tensor<32xf32>
  cond {
    %n = stablehlo.constant dense<12> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.dynamic_slice %rows, %i, %o, %o, sizes = [1, 8, 32] : (tensor<12x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x32xf32>
    %b = stablehlo.reshape %row : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
    %e = stablehlo.tanh %b : tensor<8x32xf32>
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%e init: %init) applies stablehlo.add across dimensions = [0] : (tensor<8x32xf32>, tensor<f32>) -> tensor<32xf32>
    %t = stablehlo.add %sum, %s : tensor<32xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %rows, %j, %t : tensor<12x8x32xf32>, tensor<i32>, tensor<32xf32>
  }
  return %r#2 : tensor<32xf32>
}
