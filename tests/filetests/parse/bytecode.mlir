// MLIR bytecode is accepted like text, from files and from standard input.
// RUN: shardc partition %s -o %t.mlirbc --mesh data=4 --spec arg0=data,- --emit bytecode
// RUN: shardc opt %t.mlirbc | FileCheck %s --check-prefix=READ
// RUN: cat %t.mlirbc | shardc opt - | FileCheck %s --check-prefix=READ
// READ: func.func @main(%arg0: tensor<8x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<8x16xf32>
// READ-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]

// The error for a truncated file has the position.
// RUN: head -c 100 %t.mlirbc > %t.cut
// RUN: not shardc opt %t.cut 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error[SH0121]: the bytecode ends too early: expected {{[0-9]+}} bytes at byte {{[0-9]+}}, but {{[0-9]+}} bytes are left there
// CUT-NEXT: --> {{.*}}.cut

// RUN: printf 'ML\357R\017x\000' > %t.newer
// RUN: not shardc opt %t.newer 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error[SH0122]: the input is MLIR bytecode of version 7; shardc reads versions 0 to 6
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
