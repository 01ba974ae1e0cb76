// Adjacent gradients are sliced along the sharded dimension and then accumulated in a loop: the partial sums are
// sliced, and each sum is completed once, after the loop.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["node"=2, "fsdp"=4]>

// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.all_to_all
// CHECK-NOT: stablehlo.reduce_scatter
// CHECK-NOT: stablehlo.all_reduce
// CHECK: stablehlo.return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<12x1x64xf32>, tensor<i32>, tensor<32xf32>, tensor<32xf32>
// CHECK: stablehlo.reduce_scatter
// CHECK: stablehlo.all_reduce
func.func @main(%x: tensor<12x8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"node", "fsdp"}p0, {}]>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1]>}, tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %r:4 = stablehlo.while(%rows = %x, %i = %zero, %first = %none, %second = %none) : tensor<12x8x64xf32>, tensor<i32>, tensor<32xf32>, tensor<32xf32>
  cond {
    %n = stablehlo.constant dense<12> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.dynamic_slice %rows, %i, %o, %o, sizes = [1, 8, 64] : (tensor<12x8x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x64xf32>
    %b = stablehlo.reshape %row : (tensor<1x8x64xf32>) -> tensor<8x64xf32>
    %e = stablehlo.tanh %b : tensor<8x64xf32>
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%e init: %init) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %u = stablehlo.slice %s [0:32] : (tensor<64xf32>) -> tensor<32xf32>
    %v = stablehlo.slice %s [32:64] : (tensor<64xf32>) -> tensor<32xf32>
    %t = stablehlo.add %first, %u : tensor<32xf32>
    %w = stablehlo.add %second, %v : tensor<32xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %rows, %j, %t, %w : tensor<12x8x64xf32>, tensor<i32>, tensor<32xf32>, tensor<32xf32>
  }
  return %r#2, %r#3 : tensor<32xf32>, tensor<32xf32>
}
