// A result type that does not follow from the operands.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0207]: result 0 of stablehlo.dot_general is tensor<4x4xf32>, expected tensor<4x2xf32>
// CHECK-NEXT: result_type.mlir:[[#LINE:]]:8
// CHECK: %0 = stablehlo.dot_general
// CHECK-NEXT: ^^^^^^^^^^^^^^^^^^^^^
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
