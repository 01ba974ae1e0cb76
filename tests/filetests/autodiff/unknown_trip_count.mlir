// A loop with an unknown trip count whose body is not elementwise has no reverse-mode gradient; the error is at its line.
// RUN: not shardc grad %s --wrt x 2>&1 | FileCheck %s

// CHECK: error[SH1004]: cannot differentiate a while loop with an unknown trip count in reverse mode
// CHECK: unknown_trip_count.mlir:[[#@LINE+7]]:
// CHECK: or use forward mode (jvp)
func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>

  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %r = stablehlo.reverse %y, dims = [0] : tensor<2xf32>
      %1 = stablehlo.sine %r : tensor<2xf32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<2xf32>
    }
  %sum = stablehlo.reduce(%0#1 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
