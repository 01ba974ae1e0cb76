// RUN: shardc opt %s --passes fold-pads,dce | FileCheck %s
//
// Zero padding of a convolution's input, also if it is cast, becomes the convolution's own padding; so does padding
// with the initial value of a window. A window with maximum cannot pad with zeros.

// CHECK-LABEL: func.func public @main
// CHECK-NOT: stablehlo.pad %arg0
// CHECK: stablehlo.convolution(%arg0, %arg1) {{.*}}pad = {{\[}}[1, 3], [0, 1]]
// CHECK: reduce_window"(%arg0
// CHECK-SAME: dense<{{\[}}[0, 0], [1, 2], [0, 0], [0, 0]]>
// CHECK: %[[ZEROS:.*]] = stablehlo.pad %arg0
// CHECK: reduce_window"(%[[ZEROS]]
func.func public @main(%x: tensor<2x8x8x3xf32>, %k: tensor<3x3x3x4xf32>) -> (tensor<2x10x7x4xf32>, tensor<2x9x6x3xf32>, tensor<2x9x6x3xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 1, 0, 0], high = [0, 2, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x8x8x3xf32>, tensor<f32>) -> tensor<2x11x9x3xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 1], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x11x9x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x10x7x4xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.pad %x, %least, low = [0, 1, 0, 0], high = [0, 2, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x8x8x3xf32>, tensor<f32>) -> tensor<2x11x8x3xf32>
  %3 = "stablehlo.reduce_window"(%2, %least) <{window_dimensions = array<i64: 1, 3, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %6 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %6 : tensor<f32>
  }) : (tensor<2x11x8x3xf32>, tensor<f32>) -> tensor<2x9x6x3xf32>
  %4 = stablehlo.pad %x, %zero, low = [0, 1, 0, 0], high = [0, 2, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x8x8x3xf32>, tensor<f32>) -> tensor<2x11x8x3xf32>
  %5 = "stablehlo.reduce_window"(%4, %least) <{window_dimensions = array<i64: 1, 3, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %6 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %6 : tensor<f32>
  }) : (tensor<2x11x8x3xf32>, tensor<f32>) -> tensor<2x9x6x3xf32>
  return %1, %3, %5 : tensor<2x10x7x4xf32>, tensor<2x9x6x3xf32>, tensor<2x9x6x3xf32>
}
