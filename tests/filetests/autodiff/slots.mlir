// A loop reads and writes one row per iteration. In the backward pass, rows of the result's cotangent are read
// without clearing them, and rows of the operand's gradient are written without adding them to zeros.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK: stablehlo.while
// CHECK: stablehlo.while(%[[K:.*]] = %{{.*}}, %[[ASKED:.*]] = %{{.*}}, %[[OF_X:.*]] = %{{.*}}, %{{[^ ]*}} = %{{[^ ]*}})
// CHECK: do {
// CHECK-NOT: stablehlo.dynamic_update_slice %[[ASKED]]
// CHECK: stablehlo.dynamic_slice %[[ASKED]]
// CHECK: stablehlo.dynamic_update_slice %[[OF_X]]
// CHECK-NOT: stablehlo.add
// CHECK: stablehlo.return
func.func @main(%x: tensor<6x3xf32>, %w: tensor<6x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<6x3xf32>
  %0:3 = stablehlo.while(%i = %start, %xs = %x, %ys = %empty) : tensor<i32>, tensor<6x3xf32>, tensor<6x3xf32>
  cond {
    %trips = stablehlo.constant dense<6> : tensor<i32>
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c6 = stablehlo.constant dense<6> : tensor<i32>
    %left = stablehlo.subtract %c6, %i : tensor<i32>
    %back = stablehlo.subtract %left, %c1 : tensor<i32>
    %is_negative = stablehlo.compare LT, %back, %c0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %wrapped = stablehlo.add %back, %c6 : tensor<i32>
    %at = stablehlo.select %is_negative, %wrapped, %back : tensor<i1>, tensor<i32>
    %row = stablehlo.dynamic_slice %xs, %at, %c0, sizes = [1, 3] : (tensor<6x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %sine = stablehlo.sine %row : tensor<1x3xf32>
    %next = stablehlo.dynamic_update_slice %ys, %sine, %i, %c0 : (tensor<6x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<6x3xf32>
    %j = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %j, %xs, %next : tensor<i32>, tensor<6x3xf32>, tensor<6x3xf32>
  }
  %1 = stablehlo.multiply %0#2, %w : tensor<6x3xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x3xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
