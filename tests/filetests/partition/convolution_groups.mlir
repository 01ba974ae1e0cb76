// Feature groups of a convolution are sharded like a batch: each device convolves its groups, and if there are more
// devices than groups, its features of one group.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_ --implicit-check-not=collective --implicit-check-not=reduce

sdy.mesh @mesh = <["x"=2, "y"=2]>

// One feature in each group; groups of several features; two devices on each of two groups; groups of batches.
// CHECK: batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x14x4xf32>, tensor<3x1x4xf32>) -> tensor<2x12x4xf32>
// CHECK: batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x14x8xf32>, tensor<3x4x4xf32>) -> tensor<2x12x4xf32>
// CHECK: batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x14x8xf32>, tensor<3x8x3xf32>) -> tensor<2x12x3xf32>
// CHECK: batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x14x16xf32>, tensor<3x16x4xf32>) -> tensor<2x12x4xf32>
func.func @main(
    %a: tensor<2x14x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %k: tensor<3x1x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %b: tensor<2x14x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>},
    %l: tensor<3x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>},
    %m: tensor<3x8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
    %c: tensor<16x14x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>},
    %n: tensor<3x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>})
    -> (tensor<2x12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
        tensor<2x12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>},
        tensor<2x12x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>},
        tensor<2x12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>}) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 16 : i64} : (tensor<2x14x16xf32>, tensor<3x1x16xf32>) -> tensor<2x12x16xf32>
  %1 = stablehlo.convolution(%b, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x14x16xf32>, tensor<3x4x8xf32>) -> tensor<2x12x8xf32>
  %2 = stablehlo.convolution(%b, %m) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x14x16xf32>, tensor<3x8x12xf32>) -> tensor<2x12x12xf32>
  %3 = stablehlo.convolution(%c, %n) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 8 : i64, feature_group_count = 1 : i64} : (tensor<16x14x16xf32>, tensor<3x16x16xf32>) -> tensor<2x12x16xf32>
  return %0, %1, %2, %3 : tensor<2x12x16xf32>, tensor<2x12x8xf32>, tensor<2x12x12xf32>, tensor<2x12x16xf32>
}
