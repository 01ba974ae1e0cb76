// Unused operations with effects, directly or in a region, and loops that may not terminate are kept.
// RUN: shardc opt %s --passes dce | FileCheck %s

// CHECK: stablehlo.reduce
// CHECK: stablehlo.custom_call @log
// CHECK: "stablehlo.map"
// CHECK: stablehlo.custom_call @log
// CHECK: "stablehlo.if"
// CHECK: stablehlo.custom_call @log
// CHECK: stablehlo.while
// CHECK: stablehlo.rng
// CHECK: stablehlo.custom_call @log
// CHECK-NEXT: return
func.func @main(%a: tensor<4xf32>, %p: tensor<i1>, %s: tensor<f32>, %n: tensor<1xi64>) -> tensor<4xf32> {
  %sum = stablehlo.reduce(%a init: %s) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %z = stablehlo.custom_call @log(%x, %y) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %z : tensor<f32>
  }
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    %y = stablehlo.custom_call @log(%x) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%p) ({
    %y = stablehlo.custom_call @log(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %2 = stablehlo.while(%c = %p) : tensor<i1>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %c : tensor<i1>
  }
  %3 = stablehlo.rng %s, %s, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @log(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
