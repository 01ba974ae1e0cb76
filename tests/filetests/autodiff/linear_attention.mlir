// Linear attention, which carries a matrix from step to step, has no tensor of all pairs of positions. Its gradient
// has none either, although it saves the matrix of each step.
// RUN: shardc grad %s --wrt q,k,v -o - | FileCheck %s
// RUN: shardc grad %s --wrt q,k,v --blocks -o - | FileCheck %s

// CHECK-NOT: 128x128
// CHECK: stablehlo.while
// CHECK-NOT: 128x128
// CHECK: stablehlo.while
// CHECK-NOT: 128x128
// CHECK: return
func.func @main(%q: tensor<128x4xf32>, %k: tensor<128x4xf32>, %v: tensor<128x4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %out = stablehlo.constant dense<0.0> : tensor<128x4xf32>
  %r:6 = stablehlo.while(%i = %start, %state = %empty, %ys = %out, %qs = %q, %ks = %k, %vs = %v) : tensor<i32>, tensor<4x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
  cond {
    %n = stablehlo.constant dense<128> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %q1 = stablehlo.dynamic_slice %qs, %i, %z, sizes = [1, 4] : (tensor<128x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %k1 = stablehlo.dynamic_slice %ks, %i, %z, sizes = [1, 4] : (tensor<128x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %v1 = stablehlo.dynamic_slice %vs, %i, %z, sizes = [1, 4] : (tensor<128x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %kv = stablehlo.dot_general %k1, %v1, contracting_dims = [0] x [0] : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %next_state = stablehlo.add %state, %kv : tensor<4x4xf32>
    %y = stablehlo.dot_general %q1, %next_state, contracting_dims = [1] x [0] : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %t = stablehlo.tanh %y : tensor<1x4xf32>
    %next_ys = stablehlo.dynamic_update_slice %ys, %t, %i, %z : (tensor<128x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<128x4xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %next_state, %next_ys, %qs, %ks, %vs : tensor<i32>, tensor<4x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>, tensor<128x4xf32>
  }
  %sum = stablehlo.reduce(%r#2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<128x4xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
