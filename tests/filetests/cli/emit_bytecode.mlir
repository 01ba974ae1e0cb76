// The program as bytecode, which begins with MLIR's magic number.
// REQUIRES: mlir
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=data,- --emit bytecode | head -c 2 | FileCheck %s

// CHECK: ML
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
