// A convolution whose one window covers the spatial dimension, which does not divide evenly: a sum over it.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<4x7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}, %arg1: tensor<7x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {}]>}) -> tensor<4x1x5xf32> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x7x3xf32>, tensor<7x3x5xf32>) -> tensor<4x1x5xf32>
  return %0 : tensor<4x1x5xf32>
}
