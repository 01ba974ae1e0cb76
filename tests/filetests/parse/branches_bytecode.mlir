// Functions that are kept as text cannot be written as bytecode.
// RUN: not shardc opt %s --emit bytecode -o %t.mlirbc 2>&1 | FileCheck %s

// CHECK: error[SH0125]: cannot encode the function @main with branches between blocks, which is kept as text in the syntax of its dialect
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1(%x : tensor<8xf32>)
^bb1(%y: tensor<8xf32>):
  return %y : tensor<8xf32>
}
