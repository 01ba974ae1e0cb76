// A TPU stores tensors in tiles of 8 by 128 elements; rows of a gather with two dimensions are tiled along these.
// RUN: shardc memory %s --mesh x=1 --stage layout | FileCheck %s
// RUN: shardc memory %s --mesh x=1 --target cpu --stage layout | FileCheck %s --check-prefix=DENSE
func.func @main(%x: tensor<64x8x64xf32>, %at: tensor<512x1xi32>) -> tensor<512x8x64xf32> {
  %0 = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8, 64>}> : (tensor<64x8x64xf32>, tensor<512x1xi32>) -> tensor<512x8x64xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<512x8x64xf32>
  return %1 : tensor<512x8x64xf32>
}
// CHECK: layout @main
// CHECK-NEXT: 1 stablehlo.gather tensor<512x8x64xf32>: 2097152 bytes
// DENSE: 1 stablehlo.gather tensor<512x8x64xf32>: 1048576 bytes
