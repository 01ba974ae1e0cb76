// Two meshes over the same devices whose axes overlap: together they split the devices three times in two.
sdy.mesh @rows = <["a"=4, "b"=2]>
sdy.mesh @cols = <["c"=2, "d"=4]>
func.func @main(%x: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@rows, [{"a"}, {"b"}]>}, %w: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@cols, [{"c"}, {"d"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@cols, [{"d"}, {"c"}]>}, tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@cols, [{}, {"d":(2)2}]>}) {
  %0 = sdy.sharding_constraint %w <@rows, [{"b"}, {"a"}]> : tensor<12x16xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<16x12xf32>, tensor<12x16xf32>) -> tensor<16x16xf32>
  %2 = stablehlo.sine %1 : tensor<16x16xf32>
  %3 = stablehlo.negate %x : tensor<16x12xf32>
  return %2, %3 : tensor<16x16xf32>, tensor<16x12xf32>
}
