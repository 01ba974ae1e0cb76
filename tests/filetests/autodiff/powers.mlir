// The derivative of a product of `n` equal factors is `n` times the product of `n - 1` of them.
// RUN: shardc grad %s --wrt x,u,w -o - | FileCheck %s

// `3 x^2` reuses the existing square.
// CHECK: %[[SQUARE:.*]] = stablehlo.multiply %arg0, %arg0
// CHECK: %[[THREE:.*]] = stablehlo.constant dense<3.000000e+00>
// CHECK: %[[SIX:.*]] = stablehlo.constant dense<6.000000e+00>
// CHECK: %[[FIFTH:.*]] = stablehlo.multiply %arg1, %{{.*}}
// The derivative of `1 / w^2` is `-2 / w^3`.
// CHECK: %[[BELOW:.*]] = stablehlo.multiply %{{[0-9]+}}, %arg2
// CHECK: stablehlo.divide %{{.*}}, %[[BELOW]]
// CHECK: %[[OF_U:.*]] = stablehlo.multiply %{{.*}}, %[[SIX]]
// CHECK: stablehlo.multiply %[[OF_U]], %[[FIFTH]]
// CHECK: %[[OF_X:.*]] = stablehlo.multiply %{{.*}}, %[[THREE]]
// CHECK: stablehlo.multiply %[[OF_X]], %[[SQUARE]]
// CHECK-NOT: stablehlo.add
// CHECK: return
func.func @main(%x: tensor<4xf32>, %u: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %square = stablehlo.multiply %x, %x : tensor<4xf32>
  %cube = stablehlo.multiply %square, %x : tensor<4xf32>
  %u2 = stablehlo.multiply %u, %u : tensor<4xf32>
  %u4 = stablehlo.multiply %u2, %u2 : tensor<4xf32>
  %u6 = stablehlo.multiply %u2, %u4 : tensor<4xf32>
  %w2 = stablehlo.multiply %w, %w : tensor<4xf32>
  %inverse = stablehlo.divide %one, %w2 : tensor<4xf32>
  %both = stablehlo.concatenate %cube, %u6, %inverse, dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  %sum = stablehlo.reduce(%both init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<12xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
