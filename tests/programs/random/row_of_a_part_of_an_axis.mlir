// One row is a sum over a part of an axis that splits the rows, of a value that is pending along the other part of it: together
// pending along the whole axis.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(1)2, "x"}, {}], unreduced={"y":(2)2}>}) -> tensor<1x1xf32> {
  %0 = stablehlo.slice %arg0 [2:3, 7:8] : (tensor<8x8xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
