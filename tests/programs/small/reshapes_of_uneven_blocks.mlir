// Dimensions that their axes do not divide are merged and parted: the borders of blocks move.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<10x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<40x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %c: tensor<3x9x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>},
    %d: tensor<10x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
        tensor<10x4x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>},
        tensor<3x18xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<15x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.reshape %a : (tensor<10x4xf32>) -> tensor<40xf32>
  %1 = stablehlo.reshape %b : (tensor<40x3xi32>) -> tensor<10x4x3xi32>
  %2 = stablehlo.reshape %c : (tensor<3x9x2xf32>) -> tensor<3x18xf32>
  %3 = stablehlo.reshape %d : (tensor<10x6xi32>) -> tensor<15x4xi32>
  return %0, %1, %2, %3 : tensor<40xf32>, tensor<10x4x3xi32>, tensor<3x18xf32>, tensor<15x4xi32>
}
