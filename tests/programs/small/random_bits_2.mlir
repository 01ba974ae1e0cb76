// The numbers of a generator are those of one device, whatever the mesh.
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<12x24xui32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<24xui64> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<12x24xui32>)
  %2, %3 = stablehlo.rng_bit_generator %0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<24xui64>)
  return %2, %1, %3 : tensor<2xui64>, tensor<12x24xui32>, tensor<24xui64>
}
