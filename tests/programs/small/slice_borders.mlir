// Slices whose windows cross the borders of blocks: with and without stride, even and uneven, and one so short that some
// devices have nothing of it.
sdy.mesh @mesh = <["x"=8]>
func.func @main(
    %a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<21xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<13x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
        tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [2:15, 0:3] : (tensor<16x3xf32>) -> tensor<13x3xf32>
  %1 = stablehlo.slice %a [1:16:3, 0:3] : (tensor<16x3xf32>) -> tensor<5x3xf32>
  %2 = stablehlo.slice %b [1:21:2] : (tensor<21xf32>) -> tensor<10xf32>
  %3 = stablehlo.slice %b [7:13] : (tensor<21xf32>) -> tensor<6xf32>
  return %0, %1, %2, %3 : tensor<13x3xf32>, tensor<5x3xf32>, tensor<10xf32>, tensor<6xf32>
}
