// RUN: shardc opt %s --passes propagate,fold-slices,dce | FileCheck %s
// RUN: shardc partition %s -o - 2>&1 | FileCheck %s --check-prefix=SENT --implicit-check-not=SH0310 --implicit-check-not=all_gather
//
// A dynamic_slice at constant indices, and a gather of equidistant rows or of one window, become slices. Along an
// unsharded dimension they are kept, and so is a gather of rows in another order, or beyond the end.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func public @main
// SENT-LABEL: func.func public @main
func.func public @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<60x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<56x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
    tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %far = stablehlo.constant dense<100> : tensor<i32>
  // CHECK: stablehlo.slice %arg0 [4:64, 0:8]
  // SENT: collective_permute
  %0 = stablehlo.dynamic_slice %a, %far, %zero, sizes = [60, 8] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<60x8xf32>
  // CHECK: stablehlo.dynamic_slice
  %1 = stablehlo.dynamic_slice %a, %zero, %far, sizes = [64, 4] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x4xf32>
  %i = stablehlo.iota dim = 0 : tensor<56x1xi32>
  %four = stablehlo.constant dense<4> : tensor<56x1xi32>
  %2 = stablehlo.add %i, %four : tensor<56x1xi32>
  // CHECK: stablehlo.slice %arg0 [4:60, 0:8]
  // SENT: collective_permute
  %3 = "stablehlo.gather"(%a, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<56x1xi32>) -> tensor<56x8xf32>
  // CHECK: %[[ROW:.*]] = stablehlo.slice %arg0 [63:64, 0:8]
  // CHECK: stablehlo.reshape %[[ROW]]
  %at = stablehlo.constant dense<100> : tensor<1xi32>
  %4 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<1xi32>) -> tensor<8xf32>
  // CHECK: stablehlo.gather
  %rows = stablehlo.constant dense<[[3], [2], [70]]> : tensor<3x1xi32>
  %5 = "stablehlo.gather"(%a, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %0, %1, %3, %4, %5 : tensor<60x8xf32>, tensor<64x4xf32>, tensor<56x8xf32>, tensor<8xf32>, tensor<3x8xf32>
}
