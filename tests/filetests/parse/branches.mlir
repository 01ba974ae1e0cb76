// A function with branches between blocks is kept as text; passes that would process it report that they cannot.
// RUN: shardc opt %s | FileCheck %s
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck --check-prefix=ERR %s

// CHECK: func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: cf.br ^bb1(%x : tensor<8xf32>)
// CHECK-NEXT: ^bb1(%y: tensor<8xf32>):
// ERR: error[SH0301]: shardc keeps the function @main with branches between blocks as text and cannot compile it
// ERR-NEXT: branches.mlir:[[#LINE:]]:3
// ERR: help: replace branches between blocks by stablehlo.while, stablehlo.case or stablehlo.if
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1(%x : tensor<8xf32>)
^bb1(%y: tensor<8xf32>):
  return %y : tensor<8xf32>
}
