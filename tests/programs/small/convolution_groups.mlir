// Convolutions in groups: one feature in each of a number of groups that does not come out even, groups whose inputs are
// split further and summed up, more devices than groups, groups of batches, and borders exchanged in groups.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<2x14x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y"}]>},
    %k: tensor<3x1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y"}]>},
    %b: tensor<2x14x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %l: tensor<3x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %m: tensor<3x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %c: tensor<8x14x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {}]>},
    %n: tensor<3x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y"}]>},
    %d: tensor<2x16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}]>})
    -> (tensor<2x12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y"}]>},
        tensor<2x12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>},
        tensor<2x12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
        tensor<2x12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y"}]>},
        tensor<2x16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}]>}) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<2x14x6xf32>, tensor<3x1x6xf32>) -> tensor<2x12x6xf32>
  %1 = stablehlo.convolution(%b, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x14x16xf32>, tensor<3x8x8xf32>) -> tensor<2x12x8xf32>
  %2 = stablehlo.convolution(%b, %m) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x14x16xf32>, tensor<3x4x16xf32>) -> tensor<2x12x16xf32>
  %3 = stablehlo.convolution(%c, %n) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 4 : i64, feature_group_count = 1 : i64} : (tensor<8x14x4xf32>, tensor<3x4x16xf32>) -> tensor<2x12x16xf32>
  %4 = stablehlo.convolution(%d, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<2x16x6xf32>, tensor<3x1x6xf32>) -> tensor<2x16x6xf32>
  return %0, %1, %2, %3, %4 : tensor<2x12x6xf32>, tensor<2x12x8xf32>, tensor<2x12x16xf32>, tensor<2x12x16xf32>, tensor<2x16x6xf32>
}
