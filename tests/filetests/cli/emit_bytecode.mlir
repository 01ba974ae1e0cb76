// The program as bytecode, which begins with MLIR's magic number, and as a portable artifact.
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=data,- --emit bytecode | head -c 2 | FileCheck %s
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=data,- --emit artifact=1.9.0 | head -c 23 | FileCheck %s --check-prefix=ARTIFACT
// RUN: shardc opt %s --emit artifact=0.9.0 -o %t.bc
// RUN: shardc opt %t.bc | FileCheck %s --check-prefix=READ
// RUN: not shardc opt %s --emit artifact=7.0.0 -o %t.bc 2>&1 | FileCheck %s --check-prefix=NEWER
// RUN: not shardc opt %s --emit artifact=new -o %t.bc 2>&1 | FileCheck %s --check-prefix=WORD
// ARTIFACT: StableHLO_v1.9.0
// READ: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
// NEWER: error[SH0122]: cannot write a portable artifact of StableHLO 7.0.0
// NEWER: help: choose a version from 0.9.0 to 1.20.0
// WORD: expected a version such as 1.20.0

// CHECK: ML
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
