// Functions that are kept as text cannot be written as bytecode.
// REQUIRES: mlir
// RUN: not shardc opt %s --emit bytecode -o %t.mlirbc 2>&1 | FileCheck %s

// CHECK: error[SH0508]: shardc keeps the function @main with branches between blocks as text and cannot compile it
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1(%x : tensor<8xf32>)
^bb1(%y: tensor<8xf32>):
  return %y : tensor<8xf32>
}
