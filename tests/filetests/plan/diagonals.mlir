// RUN: shardc partition %s -o - | FileCheck %s

// A diagonal, as einsum("ii->i") is lowered, and one of the last two of three dimensions: each device takes the
// elements from its own rows.
// CHECK-NOT: {{all_gather|all_reduce|reduce_scatter|collective_permute|all_to_all}}
// CHECK: stablehlo.reduce(%{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-NOT: {{all_gather|all_reduce|reduce_scatter|collective_permute|all_to_all}}
// CHECK: stablehlo.reduce(%{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-NOT: {{all_gather|all_reduce|reduce_scatter|collective_permute|all_to_all}}
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %y: tensor<3x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %row = stablehlo.iota dim = 0 : tensor<8x8xui32>
  %column = stablehlo.iota dim = 1 : tensor<8x8xui32>
  %same = stablehlo.compare EQ, %row, %column, UNSIGNED : (tensor<8x8xui32>, tensor<8x8xui32>) -> tensor<8x8xi1>
  %fill = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %masked = stablehlo.select %same, %x, %fill : tensor<8x8xi1>, tensor<8x8xf32>
  %0 = stablehlo.reduce(%masked init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>

  %n = stablehlo.iota dim = 0 : tensor<8xi32>
  %i = stablehlo.broadcast_in_dim %n, dims = [1] : (tensor<8xi32>) -> tensor<3x8x8xi32>
  %j = stablehlo.broadcast_in_dim %n, dims = [2] : (tensor<8xi32>) -> tensor<3x8x8xi32>
  %others = stablehlo.compare NE, %i, %j, SIGNED : (tensor<3x8x8xi32>, tensor<3x8x8xi32>) -> tensor<3x8x8xi1>
  %fills = stablehlo.constant dense<0.0> : tensor<3x8x8xf32>
  %all = stablehlo.select %others, %fills, %y : tensor<3x8x8xi1>, tensor<3x8x8xf32>
  %1 = stablehlo.reduce(%all init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x8x8xf32>, tensor<f32>) -> tensor<3x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<3x8xf32>
}
