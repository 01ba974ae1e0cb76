// The power series of a Bessel function gets the derivative of the function, not those of its terms, which are
// infinite at zero.
// RUN: shardc grad %s --wrt x -o - | shardc jvp - --wrt arg0 -o - | FileCheck %s

// CHECK: chlo.bessel_i1e %arg0
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.sqrt
// CHECK: %[[SLOPE:.*]] = chlo.bessel_i1e %arg0
// CHECK: %[[SIGN:.*]] = stablehlo.sign %arg0
// CHECK: %[[SIGNED:.*]] = stablehlo.multiply %[[SIGN]], %{{[0-9]+}}
// CHECK: stablehlo.subtract %[[SLOPE]], %[[SIGNED]]
// CHECK-NOT: stablehlo.sqrt
// CHECK: return
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
