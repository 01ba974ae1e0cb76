// Images split along both spatial dimensions: a layer, one of stride two on an uneven size, one with a dilated kernel, and
// a transposed one, whose input is dilated.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<2x16x12x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
    %b: tensor<2x13x12x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
    %k: tensor<3x3x3x5xf32>)
    -> (tensor<2x16x12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
        tensor<2x7x6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
        tensor<2x13x12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
        tensor<2x31x12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x12x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x16x12x5xf32>
  %1 = stablehlo.convolution(%b, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x12x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x7x6x5xf32>
  %2 = stablehlo.convolution(%b, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [1, 1]], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x12x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x13x12x5xf32>
  %3 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x12x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x31x12x5xf32>
  return %0, %1, %2, %3 : tensor<2x16x12x5xf32>, tensor<2x7x6x5xf32>, tensor<2x13x12x5xf32>, tensor<2x31x12x5xf32>
}
