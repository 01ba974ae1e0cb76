// The gradients of convolutions' kernels where images are split along a spatial dimension: each device sums over its part
// of it, and of the input it needs its neighbours' borders too. The second one is of a convolution with stride two.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<2x16x12x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
    %g: tensor<2x16x12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
    %b: tensor<2x15x12x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>},
    %h: tensor<2x8x6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>})
    -> (tensor<3x3x3x5xf32>, tensor<3x3x3x5xf32>) {
  %0 = stablehlo.convolution(%a, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x12x3xf32>, tensor<2x16x12x5xf32>) -> tensor<3x3x3x5xf32>
  %1 = stablehlo.convolution(%b, %h) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [0, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x15x12x3xf32>, tensor<2x8x6x5xf32>) -> tensor<3x3x3x5xf32>
  return %0, %1 : tensor<3x3x3x5xf32>, tensor<3x3x3x5xf32>
}
