// A truncated file.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH01{{[0-9]+}}]:
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
