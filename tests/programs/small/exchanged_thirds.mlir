// Blocks of a third and of a half do not nest; nor do the major half and the major third of an axis of 6.
sdy.mesh @mesh = <["a"=6]>
func.func @main(
    %x: tensor<60001xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2}]>},
    %y: tensor<240x301xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)3}, {"a":(3)2}]>}) ->
    (tensor<60001xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)3}]>},
     tensor<240x301xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2}, {"a":(2)3}]>}) {
  %0 = stablehlo.negate %x : tensor<60001xf32>
  %1 = stablehlo.negate %y : tensor<240x301xf32>
  return %0, %1 : tensor<60001xf32>, tensor<240x301xf32>
}
