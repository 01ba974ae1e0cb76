// Rows are picked and written by an index that counts the batch: no device needs another's, though blocks are not even.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<10x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %cache: tensor<10x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>},
                %square: tensor<10x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                %i: tensor<10xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %beams: tensor<10x2xi32>,
                %v: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<10x2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, tensor<10x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<10x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<10x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %n = stablehlo.iota dim = 0 : tensor<10xi32>
  %zero = stablehlo.constant dense<0> : tensor<10xi32>
  %lt = stablehlo.compare LT, %n, %zero, SIGNED : (tensor<10xi32>, tensor<10xi32>) -> tensor<10xi1>
  %ten = stablehlo.constant dense<10> : tensor<10xi32>
  %back = stablehlo.add %n, %ten : tensor<10xi32>
  %row = stablehlo.select %lt, %back, %n : tensor<10xi1>, tensor<10xi32>
  %a = stablehlo.broadcast_in_dim %row, dims = [0] : (tensor<10xi32>) -> tensor<10x1xi32>
  %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<10xi32>) -> tensor<10x1xi32>
  %ab = stablehlo.concatenate %a, %b, dim = 1 : (tensor<10x1xi32>, tensor<10x1xi32>) -> tensor<10x2xi32>
  %picked = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<10x7xf32>, tensor<10x2xi32>) -> tensor<10xf32>

  %m = stablehlo.iota dim = 0 : tensor<20xi32>
  %two = stablehlo.constant dense<2> : tensor<20xi32>
  %half = stablehlo.divide %m, %two : tensor<20xi32>
  %batch = stablehlo.reshape %half : (tensor<20xi32>) -> tensor<10x2x1xi32>
  %beam = stablehlo.broadcast_in_dim %beams, dims = [0, 1] : (tensor<10x2xi32>) -> tensor<10x2x1xi32>
  %both = stablehlo.concatenate %batch, %beam, dim = 2 : (tensor<10x2x1xi32>, tensor<10x2x1xi32>) -> tensor<10x2x2xi32>
  %kept = "stablehlo.gather"(%cache, %both) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<10x3x6xf32>, tensor<10x2x2xi32>) -> tensor<10x2x6xf32>

  %set = "stablehlo.scatter"(%x, %ab, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<10x7xf32>, tensor<10x2xi32>, tensor<10xf32>) -> tensor<10x7xf32>
  %added = "stablehlo.scatter"(%x, %ab, %v) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<10x7xf32>, tensor<10x2xi32>, tensor<10xf32>) -> tensor<10x7xf32>

  %aa = stablehlo.concatenate %a, %a, dim = 1 : (tensor<10x1xi32>, tensor<10x1xi32>) -> tensor<10x2xi32>
  %diagonal = "stablehlo.gather"(%square, %aa) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<10x10xf32>, tensor<10x2xi32>) -> tensor<10xf32>
  %filled = "stablehlo.scatter"(%square, %aa, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<10x10xf32>, tensor<10x2xi32>, tensor<10xf32>) -> tensor<10x10xf32>
  return %picked, %kept, %set, %added, %diagonal, %filled : tensor<10xf32>, tensor<10x2x6xf32>, tensor<10x7xf32>, tensor<10x7xf32>, tensor<10xf32>, tensor<10x10xf32>
}
