// Convolutions with strides, dilations, reversed windows, padding that cuts off, and kernels larger than windows are many;
// blocks are not even.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<2x19x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %long: tensor<2x68x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %k3: tensor<3x3x4xf32>, %k7: tensor<7x3x4xf32>,
                %k9: tensor<9x3x4xf32>,
                %k8: tensor<8x3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
                %short: tensor<2x9x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}]>},
                %even: tensor<2x12x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<2x9x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, tensor<2x34x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, tensor<2x17x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, tensor<2x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}]>}, tensor<2x5x4xf32>) {
  %0 = stablehlo.convolution(%x, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 2]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x19x3xf32>, tensor<3x3x4xf32>) -> tensor<2x9x4xf32>
  %1 = stablehlo.convolution(%long, %k7) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[3, 3]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x68x3xf32>, tensor<7x3x4xf32>) -> tensor<2x34x4xf32>
  %2 = stablehlo.convolution(%x, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [3], pad = [[-2, 1]], lhs_dilate = [3], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x19x3xf32>, tensor<3x3x4xf32>) -> tensor<2x17x4xf32>
  %3 = stablehlo.convolution(%short, %k9) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [3], pad = [[0, 5]], lhs_dilate = [3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x3xf32>, tensor<9x3x4xf32>) -> tensor<2x8x4xf32>
  %4 = stablehlo.convolution(%even, %k8) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x12x3xf32>, tensor<8x3x4xf32>) -> tensor<2x5x4xf32>
  return %0, %1, %2, %3, %4 : tensor<2x9x4xf32>, tensor<2x34x4xf32>, tensor<2x17x4xf32>, tensor<2x8x4xf32>, tensor<2x5x4xf32>
}
