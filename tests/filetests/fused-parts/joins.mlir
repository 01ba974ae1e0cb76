// RUN: shardc opt %s --passes fused-parts,dce | FileCheck %s
//
// Parts that are stacked and then reshaped into one dimension are reshaped first, and concatenated along that
// dimension. Parts that are padded with zeros to the full size and added are concatenated.

// CHECK-LABEL: func.func public @stacked
// CHECK: %[[B:.*]] = stablehlo.transpose %arg1, dims = [2, 0, 1, 3]
// CHECK: %[[COLUMNS:.*]] = stablehlo.reshape %[[B]] : (tensor<8x2x4x8xf32>) -> tensor<8x64xf32>
// CHECK: stablehlo.concatenate %{{.*}}, %[[COLUMNS]], dim = 1 : (tensor<8x32xf32>, tensor<8x64xf32>) -> tensor<8x96xf32>
func.func public @stacked(%a: tensor<1x4x8x8xf32>, %b: tensor<2x4x8x8xf32>) -> tensor<8x96xf32> {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<3x4x8x8xf32>
  %1 = stablehlo.transpose %0, dims = [2, 0, 1, 3] : (tensor<3x4x8x8xf32>) -> tensor<8x3x4x8xf32>
  %2 = stablehlo.reshape %1 : (tensor<8x3x4x8xf32>) -> tensor<8x96xf32>
  return %2 : tensor<8x96xf32>
}

// CHECK-LABEL: func.func public @padded
// CHECK-NEXT: %[[ALL:.*]] = stablehlo.concatenate %arg1, %arg0, %arg2, dim = 1
// CHECK-NEXT: return %[[ALL]]
func.func public @padded(%a: tensor<8x2xf32>, %b: tensor<8x3xf32>, %c: tensor<8x1xf32>) -> tensor<8x6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [0, 3], high = [0, 1], interior = [0, 0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x6xf32>
  %1 = stablehlo.pad %b, %zero, low = [0, 0], high = [0, 3], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x6xf32>
  %2 = stablehlo.pad %c, %zero, low = [0, 5], high = [0, 0], interior = [0, 0] : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x6xf32>
  %3 = stablehlo.add %0, %1 : tensor<8x6xf32>
  %4 = stablehlo.add %2, %3 : tensor<8x6xf32>
  return %4 : tensor<8x6xf32>
}

// Overlapping parts, parts with gaps, and parts padded with another number than zero are still added.
// CHECK-LABEL: func.func public @sums
// CHECK-NOT: stablehlo.concatenate
// CHECK-COUNT-3: stablehlo.add
func.func public @sums(%a: tensor<8x2xf32>, %b: tensor<8x3xf32>) -> (tensor<8x4xf32>, tensor<8x6xf32>, tensor<8x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [0, 2], high = [0, 0], interior = [0, 0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x4xf32>
  %1 = stablehlo.pad %b, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
  %3 = stablehlo.pad %a, %zero, low = [0, 4], high = [0, 0], interior = [0, 0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x6xf32>
  %4 = stablehlo.pad %b, %zero, low = [0, 0], high = [0, 3], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x6xf32>
  %5 = stablehlo.add %3, %4 : tensor<8x6xf32>
  %6 = stablehlo.pad %a, %one, low = [0, 3], high = [0, 0], interior = [0, 0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x5xf32>
  %7 = stablehlo.pad %b, %zero, low = [0, 0], high = [0, 2], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x5xf32>
  %8 = stablehlo.add %6, %7 : tensor<8x5xf32>
  return %2, %5, %8 : tensor<8x4xf32>, tensor<8x6xf32>, tensor<8x5xf32>
}
