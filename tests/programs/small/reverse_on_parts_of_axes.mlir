// Blocks go to their mirror devices along parts of axes, and to where the result wants them.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "y"}, {"x":(2)2}]>},
    %b: tensor<255x254xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "y"}, {"x":(2)2}]>})
    -> (tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<255x254xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "y"}, {"x":(2)2}]>}) {
  %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<256x256xf32>
  %1 = stablehlo.reverse %b, dims = [0, 1] : tensor<255x254xf32>
  return %0, %1 : tensor<256x256xf32>, tensor<255x254xf32>
}
