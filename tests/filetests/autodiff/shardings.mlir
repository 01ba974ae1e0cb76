// Gradients get the shardings of their arguments, and of constraints, unless these are open.
// RUN: shardc grad %s --wrt w -o - | FileCheck %s
// RUN: shardc grad %s --wrt w --free-shardings -o - | FileCheck %s --check-prefix=FREE

sdy.mesh @mesh = <["data"=2, "model"=4]>

// CHECK: -> (tensor<16x16xf32> {jax.result_info = "gradient(w)", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
// CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{"data"}, {"model"}]>
// CHECK: stablehlo.tanh
// CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{"data"}, {"model"}]>
// FREE: -> (tensor<16x16xf32> {jax.result_info = "gradient(w)"})
// FREE: sdy.sharding_constraint
// FREE-NOT: sdy.sharding_constraint
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {"model"}]> : tensor<8x16xf32>
  %2 = stablehlo.tanh %1 : tensor<8x16xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
