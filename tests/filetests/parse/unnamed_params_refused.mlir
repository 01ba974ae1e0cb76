// RUN: not shardc opt %s -split-input-file 2>&1 | FileCheck %s
// Parameters without names must match the arguments of the entry block.
// CHECK: error[SH0104]: the type of the block argument %x must match the parameter type of @types
func.func @types(tensor<4xf32>) {
^bb0(%x: tensor<2xf32>):
  return
}

// -----

// CHECK: the parameters of a function with a body need names
func.func @count(tensor<4xf32>) {
^bb0:
  return
}
