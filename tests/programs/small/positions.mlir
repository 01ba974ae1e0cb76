// A count along a split dimension: each device starts at its own offset.
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<16xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}
