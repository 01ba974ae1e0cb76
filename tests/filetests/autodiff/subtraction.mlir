// The cotangent of a subtracted value is subtracted from the sum, not negated and added.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK-NOT: stablehlo.negate
// CHECK: %[[ALL:.*]] = stablehlo.subtract
// CHECK: return %[[ALL]]
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32>, %u: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sine = stablehlo.sine %x : tensor<4xf32>
  %scaled = stablehlo.multiply %sine, %w : tensor<4xf32>
  %rest = stablehlo.subtract %u, %scaled : tensor<4xf32>
  %weighted = stablehlo.multiply %rest, %u : tensor<4xf32>
  %product = stablehlo.multiply %x, %w : tensor<4xf32>
  %sum = stablehlo.add %weighted, %product : tensor<4xf32>
  %total = stablehlo.reduce(%sum init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %total : tensor<f32>
}
