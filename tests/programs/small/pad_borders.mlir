// Padding before, after and between elements, and negative padding, along a split dimension.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>},
    %b: tensor<3x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %fill: tensor<f32>)
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>},
        tensor<35xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>},
        tensor<3x15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
        tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = stablehlo.pad %a, %fill, low = [3], high = [-3], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.pad %a, %fill, low = [3], high = [1], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<35xf32>
  %2 = stablehlo.pad %b, %fill, low = [0, 2], high = [0, 3], interior = [0, 0] : (tensor<3x10xf32>, tensor<f32>) -> tensor<3x15xf32>
  %3 = stablehlo.pad %b, %fill, low = [0, -9], high = [0, -15], interior = [0, 2] : (tensor<3x10xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %0, %1, %2, %3 : tensor<16xf32>, tensor<35xf32>, tensor<3x15xf32>, tensor<3x4xf32>
}
