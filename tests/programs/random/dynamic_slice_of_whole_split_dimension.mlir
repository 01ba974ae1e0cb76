// Dynamic slices that keep a split dimension whole start at zero there, whatever they are asked for.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func public @main(%arg0: tensor<7x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "z"}, {"x", ?}, {?}]>}, %arg1: tensor<i32>) -> (tensor<6x8x8xf32>, tensor<6x8x8xf32>) {
  %0 = stablehlo.constant dense<2> : tensor<i32>
  %2 = stablehlo.dynamic_slice %arg0, %0, %arg1, %0, sizes = [6, 8, 8] : (tensor<7x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x8x8xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
  %4 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {"y", "z"}, {}]> : tensor<6x8x8xf32>
  return %3, %4 : tensor<6x8x8xf32>, tensor<6x8x8xf32>
}
