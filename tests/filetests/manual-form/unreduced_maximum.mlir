// Shardy's manual computations have only sums as unreduced results: other terms leave it along a new dimension, and are reduced outside.
// RUN: shardc partition %s --manual-computation -o - | FileCheck %s

// CHECK: %[[A:.*]] = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
// CHECK: sdy.return {{.*}} : tensor<1x2xf32>
// CHECK: } : (tensor<4x2xf32>) -> tensor<2x2xf32>
// CHECK: %[[R:.*]] = stablehlo.reduce(%[[A]] init: {{.*}}) applies stablehlo.maximum across dimensions = [0]
// CHECK: sdy.sharding_constraint %[[R]] <@mesh, [{}], unreduced=max{"x"}>

sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"x"}>}) {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced=max{"x"}>]>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
