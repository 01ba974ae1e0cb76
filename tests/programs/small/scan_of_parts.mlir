// A scan over slices whose dimensions are split, one of them unevenly.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%x: tensor<5x6x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}]>}, %init: tensor<5x7xf32>) -> (tensor<5x6x7xf32>, tensor<5x7xf32>) {
  %0:2 = chlo.scan(%x) inits(%init) dimension=1 {
  ^bb0(%slice: tensor<5x7xf32>, %carry: tensor<5x7xf32>):
    %1 = stablehlo.add %slice, %carry : tensor<5x7xf32>
    %2 = stablehlo.multiply %1, %slice : tensor<5x7xf32>
    stablehlo.return %2, %1 : tensor<5x7xf32>, tensor<5x7xf32>
  } : (tensor<5x6x7xf32>, tensor<5x7xf32>) -> (tensor<5x6x7xf32>, tensor<5x7xf32>)
  return %0#0, %0#1 : tensor<5x6x7xf32>, tensor<5x7xf32>
}
