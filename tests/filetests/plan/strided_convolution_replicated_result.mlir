// A convolution with stride and dilation works on shards although its result is replicated: borders and result are
// smaller than the operand. For a small operand, an all-gather alone is cheaper, because it is one launch less.
// RUN: shardc partition %s -o - | FileCheck %s
sdy.mesh @mesh = <["x"=4]>
// CHECK: collective_permute
// CHECK: stablehlo.convolution
// CHECK: "stablehlo.all_gather"
// CHECK-NOT: "stablehlo.all_gather"
func.func @main(%a: tensor<2x19003x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x3x4xf32>) -> tensor<2x9501x4xf32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 2]], lhs_dilate = [1], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x19003x3xf32>, tensor<3x3x4xf32>) -> tensor<2x9501x4xf32>
  return %0 : tensor<2x9501x4xf32>
}
