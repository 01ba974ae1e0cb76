// A multidimensional FFT is done first along the unsharded dimensions, then along the others after an all-to-all. The
// next FFT uses the resulting sharding.
// RUN: shardc opt %s --passes propagate,plan,dce -split-input-file -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN --allow-empty < %t.err
// WARN-NOT: warning

sdy.mesh @mesh = <["x"=8]>

// CHECK: stablehlo.fft %arg0, type = FFT, length = [256, 256]
// CHECK: sdy.reshard %{{.*}} <@mesh, [{}, {"x"}, {}]>
// CHECK: type = FFT, length = [256]
// CHECK: stablehlo.add
// CHECK: type = IFFT, length = [256, 256]
// CHECK: sdy.reshard %{{.*}} <@mesh, [{"x"}, {}, {}]>
// CHECK: type = IFFT, length = [256]
func.func @there_and_back(%arg0: tensor<256x256x256xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<256x256x256xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %0 = stablehlo.fft %arg0, type = FFT, length = [256, 256, 256] : (tensor<256x256x256xcomplex<f32>>) -> tensor<256x256x256xcomplex<f32>>
  %1 = stablehlo.add %0, %0 : tensor<256x256x256xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IFFT, length = [256, 256, 256] : (tensor<256x256x256xcomplex<f32>>) -> tensor<256x256x256xcomplex<f32>>
  return %2 : tensor<256x256x256xcomplex<f32>>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// The real transform along the last dimension comes first.
// CHECK: sdy.reshard %arg0 <@mesh, [{}, {"x"}, {}]>
// CHECK: type = RFFT, length = [128]
// CHECK: sdy.reshard
// CHECK: type = FFT, length = [64]
func.func @real(%arg0: tensor<3x64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) -> (tensor<3x64x65xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.fft %arg0, type = RFFT, length = [64, 128] : (tensor<3x64x128xf32>) -> tensor<3x64x65xcomplex<f32>>
  return %0 : tensor<3x64x65xcomplex<f32>>
}
