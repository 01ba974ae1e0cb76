// Each program between the separators is independent; line numbers are those of the whole file, and an error in one
// program does not prevent printing the others.
// RUN: not shardc opt -split-input-file %s 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=ERR --input-file=%t.err %s

// CHECK: module {
// CHECK-NEXT: sdy.mesh @mesh = <["x"=2]>
// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK: // -----
// CHECK-NOT: module
// CHECK: // -----
// CHECK-NEXT: module {
// CHECK-NEXT: sdy.mesh @mesh = <["y"=4]>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// ERR: error[SH0102]: `%b` is not defined
// ERR-NEXT: split_input_file.mlir:25:10
// ERR: 25 | return %b : tensor<4xf32>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %b : tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["y"=4]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
