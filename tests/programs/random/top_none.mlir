// The largest none of a split dimension.
sdy.mesh @mesh = <["x"=8]>
func.func public @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x0xi32>) {
  %0:2 = "chlo.top_k"(%x) <{k = 0 : i64}> : (tensor<4x8xf32>) -> (tensor<4x0xf32>, tensor<4x0xi32>)
  return %0#1 : tensor<4x0xi32>
}
