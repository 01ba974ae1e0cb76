// A split dimension of size one that repeats, or that a reshape drops: the devices past the first hold nothing of it.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<1x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<6x8xf32>, tensor<8xf32>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<1x8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<6x8xf32>
  %2 = stablehlo.reshape %0 : (tensor<1x8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<6x8xf32>, tensor<8xf32>
}
