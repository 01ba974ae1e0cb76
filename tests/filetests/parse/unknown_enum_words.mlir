// An unknown enumeration value is reported with its position.
// RUN: not shardc opt %s --split-input-file 2>&1 | FileCheck %s

// CHECK: sdy.propagation_barrier: `SIDEWAYS` is not a direction: use NONE, FORWARD, BACKWARD or BOTH
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.propagation_barrier %a allowed_direction=SIDEWAYS : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: stablehlo.fft: `DFT` is not a Fourier transform: use FFT, IFFT, RFFT or IRFFT
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = DFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}
