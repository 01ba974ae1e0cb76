// A loop-carried value without an annotation is unreduced if its initial value and the values added to it are.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
// CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<i32>
// CHECK: %[[S:.*]] = "stablehlo.all_reduce"
// CHECK: stablehlo.exponential %[[S]]
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<8x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %zu = sdy.sharding_constraint %z <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c4 = stablehlo.constant dense<4> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %acc = %zu) : tensor<i32>, tensor<8x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %a, %i, %c0, %c0, sizes = [1, 8, 8] : (tensor<4x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %q = stablehlo.reshape %s : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %d = stablehlo.dot_general %q, %q, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = stablehlo.add %acc, %d : tensor<8x8xf32>
    %j = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %j, %n : tensor<i32>, tensor<8x8xf32>
  }
  %t = stablehlo.exponential %r#1 : tensor<8x8xf32>
  return %t : tensor<8x8xf32>
}
