// Convolutions with strides and dilations, over mostly uneven shards: devices only exchange borders.
// RUN: shardc partition %s -o - | FileCheck %s
// CHECK-NOT: {{all_gather|all_reduce|reduce_scatter|all_to_all}}
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2x19x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %b: tensor<2x68x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %c: tensor<2x61x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %d: tensor<2x56x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %e: tensor<2x14x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %k3: tensor<3x3x4xf32>, %k7: tensor<7x3x4xf32>)
    -> (tensor<2x9x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<2x34x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<2x21x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<2x28x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<2x7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 2]], lhs_dilate = [1], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x19x3xf32>, tensor<3x3x4xf32>) -> tensor<2x9x4xf32>
  %1 = stablehlo.convolution(%b, %k7) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x68x3xf32>, tensor<7x3x4xf32>) -> tensor<2x34x4xf32>
  %2 = stablehlo.convolution(%c, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [3], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x61x3xf32>, tensor<3x3x4xf32>) -> tensor<2x21x4xf32>
  %3 = stablehlo.convolution(%d, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x56x3xf32>, tensor<3x3x4xf32>) -> tensor<2x28x4xf32>
  %4 = stablehlo.convolution(%e, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x14x3xf32>, tensor<3x3x4xf32>) -> tensor<2x7x4xf32>
  return %0, %1, %2, %3, %4 : tensor<2x9x4xf32>, tensor<2x34x4xf32>, tensor<2x21x4xf32>, tensor<2x28x4xf32>, tensor<2x7x4xf32>
}
