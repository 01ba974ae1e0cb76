// JAX's function for lgamma inspects the bits of floats. Its derivative is digamma, as in JAX. Another function of
// that name, without the constants of the algorithm, is differentiated operation by operation.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s
// RUN: not shardc grad %s --wrt x --entry other -o - 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK-LABEL: func.func public @main(
// CHECK-NOT: stablehlo.bitcast_convert
// CHECK: chlo.digamma %arg0
// CHECK: func.func public @other(
// OTHER: error[SH1001]: stablehlo.bitcast_convert cannot be differentiated
func.func public @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = func.call @lgamma_impl(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func public @other(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = func.call @lgamma_impl_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @lgamma_impl(%x: tensor<4xf32>) -> tensor<4xf32> {
  %gamma = stablehlo.constant dense<0.577215672> : tensor<4xf32>
  %zeta = stablehlo.constant dense<-1.64493406> : tensor<4xf32>
  %stirling = stablehlo.constant dense<0.418938518> : tensor<4xf32>
  %0 = func.call @lgamma_impl_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.multiply %0, %gamma : tensor<4xf32>
  %2 = stablehlo.add %1, %zeta : tensor<4xf32>
  %3 = stablehlo.multiply %2, %stirling : tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @lgamma_impl_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  %mask = stablehlo.constant dense<-4096> : tensor<4xi32>
  %bits = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %high = stablehlo.and %bits, %mask : tensor<4xi32>
  %0 = stablehlo.bitcast_convert %high : (tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
