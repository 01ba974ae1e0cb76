// A v5p looks up one element per row beside other operations. The converted table is written with the last read of the original.
// RUN: shardc memory %s --mesh x=1 --target v5p --stage buffers | FileCheck %s
// RUN: shardc memory %s --mesh x=1 --target v5p --stage buffers --without late-lookups | FileCheck %s --check-prefix=ORDER
func.func @main(%x: tensor<512x512xbf16>, %at: tensor<512x1x1xi32>) -> (tensor<512x1xf32>, tensor<512x512xbf16>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  %1 = stablehlo.convert %0 : (tensor<512x512xbf16>) -> tensor<512x512xf32>
  %2 = "stablehlo.gather"(%1, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<512x512xf32>, tensor<512x1x1xi32>) -> tensor<512x1xf32>
  %3 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  %4 = stablehlo.dot_general %3, %0, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %2, %4 : tensor<512x1xf32>, tensor<512x512xbf16>
}
// CHECK: steps 1 to 4: 524288 bytes, stablehlo.dot_general
// CHECK-NEXT: steps 4 to 4: 1048576 bytes, copy
// CHECK: steps 3 to 4: 524288 bytes, stablehlo.dot_general
// CHECK-NOT: stablehlo.convert
// ORDER: steps 2 to 3: 1048576 bytes, stablehlo.convert tensor<512x512xf32>
