// A loop takes rows of a stack by indices from a vector, like a scan over layer numbers. If the indices are an iota, no two
// iterations take the same row: the gradient is written row by row, instead of added to a whole stack in each iteration.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK: stablehlo.while
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %[[OF_X:[^ ]*]] = %{{[^ ]*}},
// CHECK: do {
// CHECK-NOT: stablehlo.add
// CHECK: stablehlo.dynamic_update_slice %[[OF_X]]
// CHECK-NOT: stablehlo.add
// CHECK: stablehlo.return
func.func @main(%x: tensor<6x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %numbers = stablehlo.constant dense<[5, 4, 3, 2, 1, 0]> : tensor<6xi32>
  %l0:4 = stablehlo.while(%i = %start, %ks = %numbers, %xs = %x, %h = %one) : tensor<i32>, tensor<6xi32>, tensor<6x3xf32>, tensor<3xf32>
  cond {
    %trips = stablehlo.constant dense<6> : tensor<i32>
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %k = stablehlo.dynamic_slice %ks, %i, sizes = [1] : (tensor<6xi32>, tensor<i32>) -> tensor<1xi32>
    %at = stablehlo.reshape %k : (tensor<1xi32>) -> tensor<i32>
    %row = stablehlo.dynamic_slice %xs, %at, %c0, sizes = [1, 3] : (tensor<6x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %r = stablehlo.reshape %row : (tensor<1x3xf32>) -> tensor<3xf32>
    %next = stablehlo.multiply %h, %r : tensor<3xf32>
    %j = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %j, %ks, %xs, %next : tensor<i32>, tensor<6xi32>, tensor<6x3xf32>, tensor<3xf32>
  }
  %loss = stablehlo.reduce(%l0#3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
