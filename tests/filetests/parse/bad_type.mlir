// A type that does not exist in MLIR.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

func.func @main(%a: tensor<4xg32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
// CHECK: error[SH01{{[0-9]+}}]:
// CHECK-NEXT: bad_type.mlir:4:
// CHECK: ^
