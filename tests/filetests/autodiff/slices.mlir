// The cotangents of slices of a value are concatenated, with zeros in the gaps.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK-NOT: stablehlo.pad
// CHECK: %[[NONE:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4x2xf32>
// CHECK: stablehlo.concatenate %{{.*}}, %[[NONE]], %{{.*}}, dim = 1 : (tensor<4x3xf32>, tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>
// CHECK-NOT: stablehlo.add
// CHECK: return
func.func @main(%x: tensor<4x8xf32>, %w: tensor<4x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [0:4, 5:8] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %b = stablehlo.slice %x [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %sine = stablehlo.sine %a : tensor<4x3xf32>
  %p = stablehlo.multiply %b, %w : tensor<4x3xf32>
  %d = stablehlo.subtract %sine, %p : tensor<4x3xf32>
  %total = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
  return %total : tensor<f32>
}
