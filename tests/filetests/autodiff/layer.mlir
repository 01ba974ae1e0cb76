// Gradients pass through calls; residuals of the forward pass are saved, and nothing unused is computed.
// RUN: shardc grad %s --wrt w --value -o - | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<f32>, tensor<16x4xf32> {jax.result_info = "gradient(w)"})
// CHECK: %[[P:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK: %[[T:.*]] = stablehlo.tanh %[[P]]
// CHECK: %[[C:.*]] = stablehlo.subtract
// CHECK: %[[LOSS:.*]] = stablehlo.reduce(%[[T]]
// CHECK: %[[CT:.*]] = stablehlo.broadcast_in_dim {{.*}} -> tensor<8x4xf32>
// CHECK: %[[CP:.*]] = stablehlo.multiply %[[CT]], %[[C]]
// CHECK: %[[G:.*]] = stablehlo.dot_general %[[CP]], %arg0, contracting_dims = [0] x [0]
// CHECK: %[[GT:.*]] = stablehlo.transpose %[[G]]
// CHECK-NOT: dot_general
// CHECK: return %[[LOSS]], %[[GT]]
func.func private @layer(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.tanh %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = call @layer(%x, %w) : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
