// A part of the program that has a name: on one device it is its body.
sdy.mesh @mesh = <["x"=8]>
func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.named_computation<"stage">(%x) (%a: tensor<8x4xf32>) {
    %1 = stablehlo.add %a, %a : tensor<8x4xf32>
    sdy.return %1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
