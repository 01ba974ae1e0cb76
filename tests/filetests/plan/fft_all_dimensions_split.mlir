// If every dimension of an FFT is sharded, the axes of one move to the minor end of another one, and no device has the whole tensor.
// RUN: shardc partition %s -o %t --summary 2>&1 | FileCheck %s
// RUN: shardc verify %s

// CHECK-NOT: all_gather
// CHECK: all_to_all 6 0 6 66.0 KiB
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(%a: tensor<32x32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}, {"c"}]>}) -> (tensor<32x32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}, {"c"}]>}) {
  %z = stablehlo.constant dense<(0.0,0.0)> : tensor<complex<f32>>
  %0 = stablehlo.fft %a, type = RFFT, length = [32, 32, 32] : (tensor<32x32x32xf32>) -> tensor<32x32x17xcomplex<f32>>
  %1 = stablehlo.pad %0, %z, low = [0, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<32x32x17xcomplex<f32>>, tensor<complex<f32>>) -> tensor<32x32x17xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IRFFT, length = [32, 32, 32] : (tensor<32x32x17xcomplex<f32>>) -> tensor<32x32x32xf32>
  return %2 : tensor<32x32x32xf32>
}
