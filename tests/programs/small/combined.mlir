// Collectives of each kind in pairs, along different dimensions: each pair becomes one.
sdy.mesh @mesh = <["a"=4, "b"=2]>
func.func @main(%x: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %y: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>},
                %s: tensor<4x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}, %t: tensor<10x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>},
                %p: tensor<8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %q: tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>})
    -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, tensor<10x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>},
        tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}, tensor<8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // Gathers.
  %0 = stablehlo.negate %x : tensor<8x12xf32>
  %1 = stablehlo.negate %y : tensor<6x8xf32>
  // Sums that stay split, and sums that do not.
  %2 = stablehlo.dot_general %s, %t, contracting_dims = [1] x [0] : (tensor<4x10xf32>, tensor<10x3xf32>) -> tensor<4x3xf32>
  %3 = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x3xf32>, tensor<f32>) -> tensor<3xf32>
  %c = stablehlo.constant dense<0.5> : tensor<10x10xf32>
  %7 = stablehlo.dot_general %t, %s, contracting_dims = [0] x [1] : (tensor<10x3xf32>, tensor<4x10xf32>) -> tensor<3x4xf32>
  %8 = stablehlo.add %c, %c : tensor<10x10xf32>
  // Borders of neighbours.
  %9 = stablehlo.slice %p [1:8, 0:5] : (tensor<8x5xf32>) -> tensor<7x5xf32>
  %10 = stablehlo.pad %9, %zero, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<7x5xf32>, tensor<f32>) -> tensor<8x5xf32>
  %11 = stablehlo.slice %q [0:7, 1:8] : (tensor<7x8xf32>) -> tensor<7x7xf32>
  %12 = stablehlo.pad %11, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<7x7xf32>, tensor<f32>) -> tensor<7x8xf32>
  return %0, %1, %2, %8, %3, %4, %7, %10, %12 : tensor<8x12xf32>, tensor<6x8xf32>, tensor<4x3xf32>, tensor<10x10xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3x4xf32>, tensor<8x5xf32>, tensor<7x8xf32>
}
