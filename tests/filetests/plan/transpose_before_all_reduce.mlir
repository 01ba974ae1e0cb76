// A weight gradient that is transposed is all-reduced after the transpose: back ends fuse the matmul and the
// transpose. If it has other users, it is all-reduced before.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

sdy.mesh @mesh = <["data"=4]>

// CHECK: %[[DW:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[DW]], dims = [1, 0]
// CHECK-NEXT: "stablehlo.reduce_scatter"(%[[T]]) {{.*}}scatter_dimension = 1
// CHECK: %[[READ:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[ALL:.*]] = "stablehlo.all_reduce"(%[[READ]])
// CHECK: stablehlo.transpose %[[ALL]]
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %dy: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (
    tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>},
    tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.dot_general %dy, %dy, contracting_dims = [0] x [0] : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = stablehlo.cosine %2 : tensor<4x4xf32>
  return %1, %3, %4 : tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
