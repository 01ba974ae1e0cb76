// A loop of unknown length has no gradient, and says so where it stands.
// RUN: not shardc grad %s --wrt x 2>&1 | FileCheck %s

// CHECK: error[SH1004]: a loop has no gradient of which the program does not say how often it runs
// CHECK: no_end.mlir:[[#@LINE+6]]:
// CHECK: differentiate forward (jvp)
func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>

  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = stablehlo.sine %y : tensor<f32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}
