// Sizes whose sum or product overflows 64 bits are errors.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0207]: a dimension size of the result of stablehlo.select_and_scatter overflows
func.func @window(%x: tensor<4xf32>, %source: tensor<4xf32>, %zero: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.select_and_scatter"(%x, %source, %zero) <{
    padding = dense<[[9223372036854775800, 0]]> : tensor<1x2xi64>,
    window_dimensions = array<i64: -9223372036854775806>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
