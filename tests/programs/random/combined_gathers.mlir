// Two gathers of one dimension that are combined, of values that back ends lay out differently.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y"}]>}, %arg1: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2, "y":(1)2, "x", ?}]>}, %arg2: tensor<6xf32>, %arg3: tensor<i32>) -> (tensor<6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<6x6xf32>) {
  %0 = sdy.sharding_constraint %arg2 <@mesh, [{"y", ?}]> : tensor<6xf32>
  %1 = stablehlo.slice %arg0 [1:5, 0:6] : (tensor<6x6xf32>) -> tensor<4x6xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"x", "y"}, {}]> : tensor<4x6xf32>
  %3 = "stablehlo.gather"(%arg1, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<i32>) -> tensor<f32>
  %7 = stablehlo.constant dense<0> : tensor<i32>
  %8:2 = stablehlo.while(%w8_0 = %7, %w8_1 = %arg0) : tensor<i32>, tensor<6x6xf32>
  cond {
    %l8 = stablehlo.constant dense<1> : tensor<i32>
    %p8 = stablehlo.compare LT, %w8_0, %l8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p8 : tensor<i1>
  } do {
    %o8 = stablehlo.constant dense<1> : tensor<i32>
    %i8 = stablehlo.add %w8_0, %o8 : tensor<i32>
    %11 = stablehlo.add %w8_1, %w8_1 : tensor<6x6xf32>
    stablehlo.return %i8, %11 : tensor<i32>, tensor<6x6xf32>
  }
  return %0, %1, %2, %3, %8#1 : tensor<6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<6x6xf32>
}
