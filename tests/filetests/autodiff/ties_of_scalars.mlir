// A bound of `clamp` has a derivative only where the operand is strictly beyond it; the derivative of a power by its
// base is 0 at (inf, 0); `logaddexp2` has the softmax of its exponents as derivatives.
// RUN: shardc grad %s --wrt low --wrt a --wrt x -o - | FileCheck %s

// CHECK: stablehlo.compare GT, %arg0
// CHECK: %[[ZERO:.*]] = stablehlo.compare EQ, %arg2
// CHECK: %[[BASE:.*]] = stablehlo.compare EQ, %arg1
// CHECK: %[[BOTH:.*]] = stablehlo.and %[[ZERO]], %[[BASE]]
// CHECK: %[[SAFE:.*]] = stablehlo.select %[[BOTH]], %{{.*}}, %arg1
// CHECK: stablehlo.power %[[SAFE]]
// CHECK: stablehlo.logistic
// CHECK-NOT: stablehlo.compare
// CHECK: return
func.func @main(%low: tensor<f32>, %a: tensor<f32>, %b: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %clamp = stablehlo.clamp %low, %zero, %one : tensor<f32>
  %power = stablehlo.power %a, %b : tensor<f32>
  %ln2 = stablehlo.constant dense<0.693147182> : tensor<f32>
  %log2e = stablehlo.constant dense<1.44269502> : tensor<f32>
  %max = stablehlo.maximum %x, %one : tensor<f32>
  %apart = stablehlo.subtract %x, %one : tensor<f32>
  %size = stablehlo.abs %apart : tensor<f32>
  %neg = stablehlo.negate %size : tensor<f32>
  %scaled = stablehlo.multiply %ln2, %neg : tensor<f32>
  %exp = stablehlo.exponential %scaled : tensor<f32>
  %log = stablehlo.log_plus_one %exp : tensor<f32>
  %rest = stablehlo.multiply %log2e, %log : tensor<f32>
  %logaddexp2 = stablehlo.add %max, %rest : tensor<f32>
  %s = stablehlo.add %clamp, %power : tensor<f32>
  %t = stablehlo.add %s, %logaddexp2 : tensor<f32>
  return %t : tensor<f32>
}
