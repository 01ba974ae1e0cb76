// A loop converts all rows of a 32-bit stack to 16 bits. A TPU compiler converts the whole stack before the loop.
// RUN: shardc memory %s --mesh x=1 --target v5e --stage buffers | FileCheck %s
// RUN: shardc memory %s --mesh x=1 --target v5e --stage buffers --without stack-layouts | FileCheck %s --check-prefix=NONE
func.func @main(%w: tensor<4x512x512xf32>) -> tensor<512x512xf32> {
  %n = stablehlo.constant dense<0> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<512x512xf32>
  %r:3 = stablehlo.while(%i = %n, %ws = %w, %z = %zero) : tensor<i32>, tensor<4x512x512xf32>, tensor<512x512xf32> cond {
    %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %ws, %i, %n, %n, sizes = [1, 512, 512] : (tensor<4x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x512xf32>
    %matrix = stablehlo.reshape %row : (tensor<1x512x512xf32>) -> tensor<512x512xf32>
    %half = stablehlo.convert %matrix : (tensor<512x512xf32>) -> tensor<512x512xbf16>
    %y = stablehlo.dot_general %half, %half, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %ws, %y : tensor<i32>, tensor<4x512x512xf32>, tensor<512x512xf32>
  }
  %s = stablehlo.cholesky %r#2, lower = true : tensor<512x512xf32>
  return %s : tensor<512x512xf32>
}
// CHECK: buffers @main
// CHECK: steps 1 to 1: 2097152 bytes, argument tensor<4x512x512xf32>
// NONE: buffers @main
// NONE-NOT: argument tensor<4x512x512xf32>
