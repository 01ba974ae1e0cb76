
// A diagonal, as einsum("ii->i") is written, and one of the last two of three dimensions: each device takes its part out of
// the rows that it has.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<10x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %y: tensor<3x10x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<3x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %row = stablehlo.iota dim = 0 : tensor<10x10xui32>
  %column = stablehlo.iota dim = 1 : tensor<10x10xui32>
  %same = stablehlo.compare EQ, %row, %column, UNSIGNED : (tensor<10x10xui32>, tensor<10x10xui32>) -> tensor<10x10xi1>
  %fill = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<10x10xf32>
  %masked = stablehlo.select %same, %x, %fill : tensor<10x10xi1>, tensor<10x10xf32>
  %0 = stablehlo.reduce(%masked init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x10xf32>, tensor<f32>) -> tensor<10xf32>

  %n = stablehlo.iota dim = 0 : tensor<10xi32>
  %i = stablehlo.broadcast_in_dim %n, dims = [1] : (tensor<10xi32>) -> tensor<3x10x10xi32>
  %j = stablehlo.broadcast_in_dim %n, dims = [2] : (tensor<10xi32>) -> tensor<3x10x10xi32>
  %others = stablehlo.compare NE, %i, %j, SIGNED : (tensor<3x10x10xi32>, tensor<3x10x10xi32>) -> tensor<3x10x10xi1>
  %fills = stablehlo.constant dense<0.0> : tensor<3x10x10xf32>
  %all = stablehlo.select %others, %fills, %y : tensor<3x10x10xi1>, tensor<3x10x10xf32>
  %1 = stablehlo.reduce(%all init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x10x10xf32>, tensor<f32>) -> tensor<3x10xf32>
  return %0, %1 : tensor<10xf32>, tensor<3x10xf32>
}
