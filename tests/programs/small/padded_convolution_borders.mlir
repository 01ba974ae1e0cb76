// A convolution with stride over a padded image that is split: the padding becomes the convolution's own.
sdy.mesh @mesh = <["data"=2, "height"=4]>
func.func @main(%x: tensor<2x16x6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"height"}, {}, {}]>},
                %k: tensor<3x3x3x4xf32>) -> tensor<2x8x6x4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 0, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x16x6x3xf32>, tensor<f32>) -> tensor<2x17x8x3xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x17x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x8x6x4xf32>
  return %1 : tensor<2x8x6x4xf32>
}
