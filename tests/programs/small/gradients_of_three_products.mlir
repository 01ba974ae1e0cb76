// The gradient that flows back through three products on a split dimension is added to another one by one: one
// all-reduce completes it. The weights are kept in half the width, and gathered so.
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func public @main(
    %g: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %a: tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %b: tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %c: tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %w: tensor<16x24xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = stablehlo.convert %w : (tensor<16x24xbf16>) -> tensor<16x24xf32>
  %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [1] : (tensor<8x24xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.add %g, %1 : tensor<8x16xf32>
  %3 = stablehlo.dot_general %b, %0, contracting_dims = [1] x [1] : (tensor<8x24xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  %4 = stablehlo.add %2, %3 : tensor<8x16xf32>
  %5 = stablehlo.dot_general %c, %0, contracting_dims = [1] x [1] : (tensor<8x24xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  %6 = stablehlo.add %5, %4 : tensor<8x16xf32>
  %7 = stablehlo.tanh %g : tensor<8x16xf32>
  return %6, %7 : tensor<8x16xf32>, tensor<8x16xf32>
}
