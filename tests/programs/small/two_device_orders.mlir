// Two meshes over the same devices in different orders, whose axes overlap too: what comes in and goes out on the other
// one is permuted.
sdy.mesh @rows = <["a"=4, "b"=2]>
sdy.mesh @cols = <["c"=2, "d"=4], device_ids=[5, 0, 3, 6, 1, 7, 2, 4]>
func.func @main(%x: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@rows, [{"a"}, {"b"}]>}, %w: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@cols, [{"c"}, {"d"}]>}, %b: tensor<10xf32> {sdy.sharding = #sdy.sharding<@cols, [{"d"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@rows, [{"a"}, {"b"}]>}, tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@cols, [{}, {"d":(2)2}]>}, tensor<10xf32> {sdy.sharding = #sdy.sharding<@cols, [{"c", "d"}]>}, tensor<10xf32> {sdy.sharding = #sdy.sharding<@cols, [{"d"}]>}) {
  %0 = sdy.sharding_constraint %w <@cols, [{"d"}, {"c"}]> : tensor<12x16xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<16x12xf32>, tensor<12x16xf32>) -> tensor<16x16xf32>
  %2 = stablehlo.sine %1 : tensor<16x16xf32>
  %3 = stablehlo.negate %x : tensor<16x12xf32>
  %i = stablehlo.iota dim = 0 : tensor<10xf32>
  %4 = stablehlo.add %b, %i : tensor<10xf32>
  return %2, %3, %4, %b : tensor<16x16xf32>, tensor<16x12xf32>, tensor<10xf32>, tensor<10xf32>
}
