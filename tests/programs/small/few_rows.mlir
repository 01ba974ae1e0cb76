// Slices of few rows of a split dimension, even and uneven, of several types of elements, for readers that want them whole, split
// along another dimension, in each row of the tensor that they were taken of, or at its borders.
sdy.mesh @mesh = <["x"=8]>
func.func @main(
    %even: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %uneven: tensor<19x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %ints: tensor<19x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %complex: tensor<13x4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
        tensor<19x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<21x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<4x6xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<2x4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<5x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.slice %even [5:6, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
  %row = stablehlo.reshape %0 : (tensor<1x8xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %uneven [18:19, 0:8] : (tensor<19x8xf32>) -> tensor<1x8xf32>
  %last = stablehlo.reshape %1 : (tensor<1x8xf32>) -> tensor<8xf32>
  %2 = stablehlo.slice %uneven [7:8, 0:8] : (tensor<19x8xf32>) -> tensor<1x8xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<19x8xf32>
  %less = stablehlo.subtract %uneven, %3 : tensor<19x8xf32>
  // On two devices, of which the second is the last that has any.
  %border = stablehlo.slice %uneven [16:19, 0:8] : (tensor<19x8xf32>) -> tensor<3x8xf32>
  %strided = stablehlo.slice %uneven [4:19:9, 0:8] : (tensor<19x8xf32>) -> tensor<2x8xf32>
  %top = stablehlo.slice %uneven [0:1, 0:8] : (tensor<19x8xf32>) -> tensor<1x8xf32>
  %bottom = stablehlo.slice %uneven [18:19, 0:8] : (tensor<19x8xf32>) -> tensor<1x8xf32>
  %4 = stablehlo.broadcast_in_dim %bottom, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %5 = stablehlo.reshape %4 : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
  %6 = stablehlo.negate %top : tensor<1x8xf32>
  %edges = stablehlo.concatenate %6, %uneven, %5, dim = 0 : (tensor<1x8xf32>, tensor<19x8xf32>, tensor<1x8xf32>) -> tensor<21x8xf32>
  %7 = stablehlo.slice %ints [10:11, 0:6] : (tensor<19x6xi32>) -> tensor<1x6xi32>
  %number = stablehlo.reshape %7 : (tensor<1x6xi32>) -> tensor<6xi32>
  %zero = stablehlo.constant dense<0> : tensor<19x6xi32>
  %signs = stablehlo.compare GT, %ints, %zero, SIGNED : (tensor<19x6xi32>, tensor<19x6xi32>) -> tensor<19x6xi1>
  %truth = stablehlo.slice %signs [2:18:4, 0:6] : (tensor<19x6xi1>) -> tensor<4x6xi1>
  %pair = stablehlo.slice %complex [11:13, 0:4] : (tensor<13x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %8 = stablehlo.convert %even : (tensor<16x8xf32>) -> tensor<16x8xbf16>
  %five = stablehlo.slice %8 [6:11, 0:8] : (tensor<16x8xbf16>) -> tensor<5x8xbf16>
  return %row, %last, %less, %border, %strided, %edges, %number, %truth, %pair, %five : tensor<8xf32>, tensor<8xf32>, tensor<19x8xf32>, tensor<3x8xf32>, tensor<2x8xf32>, tensor<21x8xf32>, tensor<6xi32>, tensor<4x6xi1>, tensor<2x4xcomplex<f32>>, tensor<5x8xbf16>
}
