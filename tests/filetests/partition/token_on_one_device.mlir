// A token holds no data: the mesh of its sharding need not be a mesh of the program.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: mhlo.num_replicas = 8
// CHECK: stablehlo.custom_call @callback(%arg0, %{{.*}}) {has_side_effect = true} : (!stablehlo.token, tensor<16x16xf32>) -> (!stablehlo.token, tensor<f32>)
sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @one = <[]>
func.func @main(%t: !stablehlo.token, %a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (!stablehlo.token, tensor<16x16xf32>) {
  %0:2 = stablehlo.custom_call @callback(%t, %a) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>, <@one, []>]>} : (!stablehlo.token, tensor<16x16xf32>) -> (!stablehlo.token, tensor<f32>)
  %1 = stablehlo.broadcast_in_dim %0#1, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %2 = stablehlo.add %a, %1 : tensor<16x16xf32>
  return %0#0, %2 : !stablehlo.token, tensor<16x16xf32>
}
