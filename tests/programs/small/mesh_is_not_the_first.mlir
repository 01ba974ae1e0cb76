// The first mesh is not the one that the tensors are on: device counts, coordinates and ids are the second's.
sdy.mesh @other = <["z"=1]>
sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>

func.func public @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<16x8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<16x8xf32>
  %1 = stablehlo.add %x, %0 : tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}
