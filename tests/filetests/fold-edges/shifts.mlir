// A slice of a pad or concatenation is folded into it, because the longer intermediate value has other shard boundaries.
// RUN: shardc opt %s --passes fold-edges,dce | FileCheck %s

// CHECK-LABEL: func.func public @pad_then_slice
// CHECK: stablehlo.pad %arg0, %{{.*}}, low = [1, 0], high = [-1, 0], interior = [0, 0]
// CHECK-NOT: stablehlo.slice
func.func public @pad_then_slice(%a: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<17x4xf32>
  %1 = stablehlo.slice %0 [0:16, 0:4] : (tensor<17x4xf32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}

// The derivative of such a shift: a pad, and a pad that only cuts off.
// CHECK-LABEL: func.func public @derivative
// CHECK: stablehlo.pad %arg0, %{{.*}}, low = [-1, 0], high = [1, 0], interior = [0, 0]
// CHECK-NOT: stablehlo.pad
func.func public @derivative(%a: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<17x4xf32>
  %1 = stablehlo.pad %0, %z, low = [-1, 0], high = [0, 0], interior = [0, 0] : (tensor<17x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}

// CHECK-LABEL: func.func public @what_was_padded
// CHECK-NEXT: %[[PART:.*]] = stablehlo.slice %arg0 [0:15, 0:4]
// CHECK-NEXT: return %[[PART]]
func.func public @what_was_padded(%a: tensor<16x4xf32>) -> tensor<15x4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<18x4xf32>
  %1 = stablehlo.slice %0 [1:16, 0:4] : (tensor<18x4xf32>) -> tensor<15x4xf32>
  return %1 : tensor<15x4xf32>
}

// CHECK-LABEL: func.func public @concatenate_then_slice
// CHECK: %[[PART:.*]] = stablehlo.slice %arg0 [0:15, 0:4]
// CHECK: stablehlo.concatenate %arg1, %[[PART]], dim = 0
func.func public @concatenate_then_slice(%a: tensor<16x4xf32>, %b: tensor<1x4xf32>) -> tensor<16x4xf32> {
  %0 = stablehlo.concatenate %b, %a, dim = 0 : (tensor<1x4xf32>, tensor<16x4xf32>) -> tensor<17x4xf32>
  %1 = stablehlo.slice %0 [0:16, 0:4] : (tensor<17x4xf32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}

// Elements between others, and those that a negative edge has no elements to cut off from, stay as they are.
// CHECK-LABEL: func.func public @interior
// CHECK: stablehlo.pad
// CHECK: stablehlo.slice
func.func public @interior(%a: tensor<16xf32>) -> tensor<16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<31xf32>
  %1 = stablehlo.slice %0 [0:16] : (tensor<31xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// CHECK-LABEL: func.func public @padding_alone
// CHECK: stablehlo.pad
// CHECK: stablehlo.slice
func.func public @padding_alone(%a: tensor<16xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0], high = [4], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<20xf32>
  %1 = stablehlo.slice %0 [18:20] : (tensor<20xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func public @no_padding
// CHECK-NEXT: stablehlo.negate %arg0
func.func public @no_padding(%a: tensor<16xf32>) -> tensor<16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [0], high = [0], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.negate %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}
