// A kernel with more elements than there are windows, in uneven shards: devices exchange the elements that their
// windows need, instead of all-gathering the input.
// RUN: shardc partition %s -o - | FileCheck %s
// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"
// CHECK-NOT: all_gather
// CHECK: stablehlo.convolution(%{{.*}}, %arg1) {{.*}} window = {stride = [4], pad = {{\[\[}}0, 0]]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<1x32x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<9x4096x64xf32>) -> (tensor<1x6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [4], pad = [[-1, 1]], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x4096xf32>, tensor<9x4096x64xf32>) -> tensor<1x6x64xf32>
  return %0 : tensor<1x6x64xf32>
}
