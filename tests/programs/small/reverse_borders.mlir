// Split dimensions in reverse, even and uneven.
sdy.mesh @mesh = <["x"=8], device_ids=[3, 1, 0, 2, 7, 6, 4, 5]>
func.func @main(
    %a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<2x11xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)4}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<2x11xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)4}]>}) {
  %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<16x3xf32>
  %1 = stablehlo.reverse %b, dims = [0, 1] : tensor<2x11xf32>
  return %0, %1 : tensor<16x3xf32>, tensor<2x11xf32>
}
