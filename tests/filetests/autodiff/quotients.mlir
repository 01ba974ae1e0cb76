// Gradients of quotients by a broadcast, and of log-sum-exp.
// RUN: shardc grad %s --wrt x,a,b -o - | FileCheck %s

// One division per row.
// CHECK: %[[ONES:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[INVERSE:.*]] = stablehlo.divide %[[ONES]], %{{.*}} : tensor<4xf32>
// CHECK: %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %[[INVERSE]]
// The derivative of each operand is a logistic of their difference; it is not NaN if both are the same infinity.
// CHECK: %[[A:.*]] = stablehlo.logistic %[[APART:.*]]
// CHECK: %[[OF_A:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[A]]
// CHECK: %[[NEGATED:.*]] = stablehlo.negate %[[APART]]
// CHECK: %[[B:.*]] = stablehlo.logistic %[[NEGATED]]
// CHECK: %[[OF_B:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[B]]
// CHECK-NOT: stablehlo.divide
// CHECK: stablehlo.multiply %{{.*}}, %[[OF_B]]
// CHECK: stablehlo.multiply %{{.*}}, %[[OF_A]]
// CHECK: stablehlo.multiply %{{.*}}, %[[SPREAD]]
// CHECK: return
func.func @main(%x: tensor<4x8xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %rows = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %q = stablehlo.divide %x, %rows : tensor<4x8xf32>
  %larger = stablehlo.maximum %a, %b : tensor<4x8xf32>
  %apart = stablehlo.subtract %a, %b : tensor<4x8xf32>
  %distance = stablehlo.abs %apart : tensor<4x8xf32>
  %less = stablehlo.negate %distance : tensor<4x8xf32>
  %power = stablehlo.exponential %less : tensor<4x8xf32>
  %rest = stablehlo.log_plus_one %power : tensor<4x8xf32>
  %sum = stablehlo.add %larger, %rest : tensor<4x8xf32>
  %product = stablehlo.multiply %q, %sum : tensor<4x8xf32>
  %total = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %total : tensor<f32>
}
