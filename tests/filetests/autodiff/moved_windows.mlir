// Windows that are shifted by one element have other elements, although there are as many of them.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK: stablehlo.pad %arg0, %{{.*}}, low = [-1], high = [1], interior = [0]
func.func @main(%x: tensor<8xf64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[-1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %c : tensor<f64>
  }) : (tensor<8xf64>, tensor<f64>) -> tensor<6xf64>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6xf64>, tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
}
