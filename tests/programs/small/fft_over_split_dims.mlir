// Transforms over several dimensions of which some are split, real ones too, even and uneven.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<8x8x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
    %b: tensor<3x8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}]>},
    %c: tensor<5x8x7xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %d: tensor<10x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %e: tensor<4x6x9xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>})
    -> (tensor<8x8x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
        tensor<3x8x7xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<5x8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
        tensor<10x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<4x6x9xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
  %0 = stablehlo.fft %a, type = FFT, length = [8, 8, 8] : (tensor<8x8x8xcomplex<f32>>) -> tensor<8x8x8xcomplex<f32>>
  %1 = stablehlo.multiply %0, %0 : tensor<8x8x8xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IFFT, length = [8, 8, 8] : (tensor<8x8x8xcomplex<f32>>) -> tensor<8x8x8xcomplex<f32>>
  %3 = stablehlo.fft %b, type = RFFT, length = [8, 12] : (tensor<3x8x12xf32>) -> tensor<3x8x7xcomplex<f32>>
  %4 = stablehlo.fft %c, type = IRFFT, length = [8, 12] : (tensor<5x8x7xcomplex<f32>>) -> tensor<5x8x12xf32>
  %5 = stablehlo.fft %d, type = RFFT, length = [10, 9] : (tensor<10x9xf32>) -> tensor<10x5xcomplex<f32>>
  %6 = stablehlo.fft %5, type = IRFFT, length = [10, 9] : (tensor<10x5xcomplex<f32>>) -> tensor<10x9xf32>
  %7 = stablehlo.fft %e, type = IFFT, length = [4, 6, 9] : (tensor<4x6x9xcomplex<f32>>) -> tensor<4x6x9xcomplex<f32>>
  return %2, %3, %4, %6, %7 : tensor<8x8x8xcomplex<f32>>, tensor<3x8x7xcomplex<f32>>, tensor<5x8x12xf32>, tensor<10x9xf32>, tensor<4x6x9xcomplex<f32>>
}
