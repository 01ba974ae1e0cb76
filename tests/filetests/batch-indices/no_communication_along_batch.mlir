// A gather or scatter whose index has a component that counts the batch is local to each device; otherwise rows would
// be looked up on all devices.
// RUN: shardc partition %s -o - | FileCheck %s
// CHECK-NOT: {{all_gather|all_reduce|reduce_scatter|collective_permute|all_to_all}}
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %v: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %n = stablehlo.iota dim = 0 : tensor<8xi32>
  %a = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
  %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
  %ab = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8xf32>
  %1 = "stablehlo.scatter"(%x, %ab, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<8x2xi32>, tensor<8xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x16xf32>
}
