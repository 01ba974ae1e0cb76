// Both spatial dimensions of a transposed convolution's input are sharded: the halo exchange precedes the base
// dilation, so that no inserted zeros are sent.
// RUN: shardc partition %s -o - | FileCheck %s
// CHECK: "stablehlo.collective_permute"(%{{.*}}) {{.*}} : (tensor<2x1x2x4xf32>)
// CHECK: "stablehlo.collective_permute"(%{{.*}}) {{.*}} : (tensor<2x6x1x4xf32>)
// CHECK: "stablehlo.collective_permute"(%{{.*}}) {{.*}} : (tensor<2x6x1x4xf32>)
// CHECK-NOT: collective_permute
// CHECK: stablehlo.convolution(%{{.*}}) {{.*}} : (tensor<2x11x7x4xf32>, tensor<4x4x4x8xf32>) -> tensor<2x8x4x8xf32>
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<2x8x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %arg1: tensor<4x4x4x8xf32>) -> (tensor<2x16x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<4x4x4x8xf32>) -> tensor<2x16x16x8xf32>
  return %0 : tensor<2x16x16x8xf32>
}
