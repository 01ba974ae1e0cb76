// Partial sums that are reshaped or scaled before they are added are all-reduced once.
// RUN: shardc partition %s -o - --summary 2>&1 | FileCheck %s

// CHECK: all_reduce 1 0 1 448 B
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<64xf32>
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x8xf32>) -> tensor<64xf32>
  %2 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x64xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = stablehlo.multiply %2, %half : tensor<64xf32>
  %4 = stablehlo.add %1, %3 : tensor<64xf32>
  return %4 : tensor<64xf32>
}
