// The derivative of `logaddexp(x, inf)` is 1 at infinity, where the difference of the operands is NaN: an infinite constant
// does not make the test for NaN redundant.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK: %[[APART:.*]] = stablehlo.subtract %arg0
// CHECK: %[[WEIGHT:.*]] = stablehlo.logistic %[[APART]]
// CHECK: %[[IS_NAN:.*]] = stablehlo.compare NE, %[[APART]], %[[APART]]
// CHECK: stablehlo.select %[[IS_NAN]], %{{.*}}, %[[WEIGHT]]
// CHECK: return
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %max = stablehlo.maximum %x, %inf : tensor<f32>
  %apart = stablehlo.subtract %x, %inf : tensor<f32>
  %is_nan = stablehlo.compare NE, %apart, %apart : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %sum = stablehlo.add %x, %inf : tensor<f32>
  %size = stablehlo.abs %apart : tensor<f32>
  %neg = stablehlo.negate %size : tensor<f32>
  %exp = stablehlo.exponential %neg : tensor<f32>
  %log = stablehlo.log_plus_one %exp : tensor<f32>
  %rest = stablehlo.add %max, %log : tensor<f32>
  %logaddexp = stablehlo.select %is_nan, %sum, %rest : tensor<i1>, tensor<f32>
  return %logaddexp : tensor<f32>
}
