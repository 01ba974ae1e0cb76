// The minimum is returned besides its use in comparisons, so it has a derivative.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK: %[[SMALLEST:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.minimum
// CHECK: stablehlo.compare EQ, %arg0, %{{.*}}
func.func @main(%x: tensor<8xf64>) -> (tensor<f64>, tensor<i32>) {
  %inf = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
  %low = stablehlo.constant dense<-0.25> : tensor<f64>
  %high = stablehlo.constant dense<0.5> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %inf) applies stablehlo.minimum across dimensions = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
  %1 = stablehlo.clamp %low, %0, %high : tensor<f64>
  %2 = stablehlo.convert %1 : (tensor<f64>) -> tensor<i32>
  return %0, %2 : tensor<f64>, tensor<i32>
}
