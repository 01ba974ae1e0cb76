// A gradient equals derivatives along random directions. A wrong sign, and the gradient of another argument, are refuted by name.
// RUN: shardc grad %s --wrt w,v --value -o %t.mlir
// RUN: shardc prove %s %t.mlir --gradient | FileCheck %s
// RUN: shardc prove %s %t.mlir --gradient --wrt w,v --format json | FileCheck %s --check-prefix JSON
// RUN: sed 's/stablehlo.subtract/stablehlo.add/' %t.mlir > %t.sign.mlir
// RUN: not shardc prove %s %t.sign.mlir --gradient | FileCheck %s --check-prefix SIGN
// RUN: shardc grad %s --wrt w -o %t.one.mlir
// RUN: not shardc prove %s %t.one.mlir --gradient --wrt v | FileCheck %s --check-prefix OTHER
// RUN: not shardc prove %s %s --gradient --wrt w 2>&1 | FileCheck %s --check-prefix TYPES

// CHECK: tested: 2 of 2 gradients equal derivatives along random directions in exact arithmetic

// JSON: "verdict": "tested"
// JSON: "name": "w"
// JSON-NEXT: "equal": true

// SIGN: refuted: 1 of 2 gradients equal derivatives along random directions in exact arithmetic
// SIGN-NEXT: the gradient with respect to w differs

// OTHER: refuted: 0 of 1 gradients
// OTHER-NEXT: the gradient with respect to v differs

// TYPES: error[SH0714]: the gradient with respect to argument 1 has type tensor<f32>
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.tanh %0 : tensor<8x4xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.exponential %2 : tensor<8x4xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}
