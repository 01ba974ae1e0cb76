// The major half and the minor half of an axis of 6 are asked for in two dimensions of one reshape: both at once split nothing,
// since what lies between them is one and a half devices.
sdy.mesh @mesh = <["x"=6]>
func.func public @main(%x: tensor<7x6x13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)3, ?}, {?}, {"x":(1)2}]>}) -> (tensor<7x6x13x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x":(3)2}, {"x":(1)3, ?}]>}) {
  %0 = stablehlo.reshape %x : (tensor<7x6x13xf32>) -> tensor<7x6x13x1xf32>
  return %0 : tensor<7x6x13x1xf32>
}
