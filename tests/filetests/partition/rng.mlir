// Random numbers would differ between devices: one device draws for all.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=4, "y"=2]>

// CHECK: %[[ALL:.*]] = stablehlo.rng %arg0, %arg1
// CHECK: %[[FIRST:.*]] = stablehlo.compare EQ
// CHECK: %[[ADDEND:.*]] = stablehlo.select %[[FIRST]], %[[ALL]], %{{.*}} : tensor<i1>, tensor<64x32xf32>
// CHECK: %[[PART:.*]] = "stablehlo.reduce_scatter"(%[[ADDEND]])
// CHECK: "stablehlo.all_reduce"(%[[PART]])
func.func @main(%lo: tensor<f32>, %hi: tensor<f32>) -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %s = stablehlo.constant dense<[64, 32]> : tensor<2xi64>
  %1 = stablehlo.rng %lo, %hi, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}
