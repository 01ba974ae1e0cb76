// RUN: shardc opt %s --passes propagate,unfuse-products,dce | FileCheck %s
// RUN: shardc partition %s -o - | FileCheck %s --check-prefix=LOCAL --implicit-check-not=permute{{.*}}64x64x
//
// A convolution of concatenated features, as from a skip connection, is a sum of convolutions of each part with its
// slice of the kernel. A slice of the features of its gradient is a convolution with that slice.

// CHECK-LABEL: @main
// CHECK: %[[OF_A:.*]] = stablehlo.slice %arg2 [0:3, 0:3, 0:8, 0:8]
// CHECK: %[[A:.*]] = stablehlo.convolution(%arg0, %[[OF_A]])
// CHECK: %[[OF_B:.*]] = stablehlo.slice %arg2 [0:3, 0:3, 8:12, 0:8]
// CHECK: %[[B:.*]] = stablehlo.convolution(%arg1, %[[OF_B]])
// CHECK: stablehlo.add %[[A]], %[[B]]
// CHECK-COUNT-2: stablehlo.convolution
// LOCAL-LABEL: @main
// LOCAL: all_reduce
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(
    %a: tensor<2x64x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {"model"}]>},
    %b: tensor<2x64x64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {"model"}]>},
    %w: tensor<3x3x12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}, {}]>})
    -> (tensor<2x64x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {}]>},
        tensor<2x64x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {"model"}]>},
        tensor<2x64x64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {"model"}]>}) {
  %joined = stablehlo.concatenate %a, %b, dim = 3 : (tensor<2x64x64x8xf32>, tensor<2x64x64x4xf32>) -> tensor<2x64x64x12xf32>
  %y = stablehlo.convolution(%joined, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x64x64x12xf32>, tensor<3x3x12x8xf32>) -> tensor<2x64x64x8xf32>
  %d = stablehlo.sine %y : tensor<2x64x64x8xf32>
  %turned = stablehlo.reverse %w, dims = [0, 1] : tensor<3x3x12x8xf32>
  %dx = stablehlo.convolution(%d, %turned) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x64x64x8xf32>, tensor<3x3x12x8xf32>) -> tensor<2x64x64x12xf32>
  %da = stablehlo.slice %dx [0:2, 0:64, 0:64, 0:8] : (tensor<2x64x64x12xf32>) -> tensor<2x64x64x8xf32>
  %db = stablehlo.slice %dx [0:2, 0:64, 0:64, 8:12] : (tensor<2x64x64x12xf32>) -> tensor<2x64x64x4xf32>
  return %y, %da, %db : tensor<2x64x64x8xf32>, tensor<2x64x64x8xf32>, tensor<2x64x64x4xf32>
}
