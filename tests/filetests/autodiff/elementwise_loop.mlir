// An elementwise loop with an unknown trip count has a gradient: the loop runs again and carries elementwise derivatives.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK: stablehlo.while
// CHECK: %[[SLOPE:.*]] = stablehlo.constant dense<1.000000e+00>
// CHECK: stablehlo.while
// CHECK: stablehlo.compare GT
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.divide
// CHECK: return
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.while(%v = %x) : tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<2.0> : tensor<4xf32>
    %large = stablehlo.compare GT, %v, %limit : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %no = stablehlo.constant dense<false> : tensor<i1>
    %any = stablehlo.reduce(%large init: %no) applies stablehlo.or across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %any : tensor<i1>
  } do {
    %root = stablehlo.sqrt %v : tensor<4xf32>
    stablehlo.return %root : tensor<4xf32>
  }
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
