// XLA takes values that nobody reads out of the tuple of a barrier, and leaves its sharding as it was: one partition has none.
sdy.mesh @mesh = <["x"=1]>
func.func @main(%x: tensor<4x8xi32>, %y: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x8xi32> {
  %b:2 = stablehlo.optimization_barrier %x, %y : tensor<4x8xi32>, tensor<4x8xi32>
  %zero = stablehlo.subtract %b#1, %b#1 : tensor<4x8xi32>
  %sum = stablehlo.add %b#0, %zero : tensor<4x8xi32>
  return %sum : tensor<4x8xi32>
}
