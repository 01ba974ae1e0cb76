// A front end gives the derivative of a function, composite or custom call.
// RUN: shardc grad %s --wrt x --rule kernel=forward,backward -o - | FileCheck %s --check-prefix=VJP
// RUN: shardc jvp %s --wrt x --rule kernel=tangents -o - | FileCheck %s --check-prefix=JVP
// RUN: shardc grad %s --wrt x --rule kernel=tangents -o - | FileCheck %s --check-prefix=BOTH
// RUN: shardc grad %s --wrt x --rule kernel=stop -o - | FileCheck %s --check-prefix=STOP
// RUN: not shardc jvp %s --wrt x --rule kernel=forward,backward 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not shardc grad %s --wrt x 2>&1 | FileCheck %s --check-prefix=NONE

// VJP: stablehlo.custom_call @kernel_with_residual
// VJP: stablehlo.custom_call @kernel_backward
// JVP: %[[Y:.*]] = stablehlo.exponential %arg0
// JVP: stablehlo.multiply %arg1, %[[Y]]
// BOTH: %[[Y:.*]] = stablehlo.exponential %arg0
// BOTH: stablehlo.multiply {{.*}}, %[[Y]]
// STOP: stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// ERROR: error[SH1006]: forward mode needs a JVP rule, but the operation with the backward rule @backward has none
// NONE: error[SH1001]: stablehlo.custom_call @kernel cannot be differentiated
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.custom_call @kernel(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = stablehlo.custom_call @kernel_with_residual(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @backward(%residual: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @kernel_backward(%residual, %ct) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @tangents(%x: tensor<4xf32>, %dx: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %1 = stablehlo.multiply %dx, %0 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
