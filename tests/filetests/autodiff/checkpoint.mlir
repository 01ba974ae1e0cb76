// Values that the policy does not save are recomputed behind a barrier with the cotangent, each layer in its own backward step.
// RUN: shardc grad %s --wrt w0,w1 --checkpoint nothing --layers layer -o - | FileCheck %s
// RUN: shardc grad %s --wrt w0,w1 --checkpoint dots -o - | FileCheck %s --check-prefix=DOTS

// CHECK: stablehlo.tanh
// CHECK: %[[SECOND:.*]]:3 = stablehlo.optimization_barrier
// CHECK: stablehlo.dot_general %[[SECOND]]#0, %[[SECOND]]#1
// CHECK: stablehlo.tanh
// CHECK: %[[FIRST:.*]]:3 = stablehlo.optimization_barrier %arg0, %arg1
// CHECK: stablehlo.dot_general %[[FIRST]]#0, %[[FIRST]]#1
// CHECK: stablehlo.tanh
// CHECK-NOT: optimization_barrier

// DOTS: %[[P0:.*]] = stablehlo.dot_general %arg0, %arg1
// DOTS: %[[P1:.*]] = stablehlo.dot_general
// DOTS: %[[B1:.*]]:2 = stablehlo.optimization_barrier %[[P1]]
// DOTS: stablehlo.tanh %[[B1]]#0
// DOTS: %[[B0:.*]]:2 = stablehlo.optimization_barrier %[[P0]]
// DOTS: stablehlo.tanh %[[B0]]#0
func.func private @layer(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.tanh %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
func.func @main(%x: tensor<8x16xf32>, %w0: tensor<16x16xf32>, %w1: tensor<16x16xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = call @layer(%x, %w0) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %1 = call @layer(%0, %w1) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
