// The file name - is standard input or output; a closed output pipe is not an error.
// RUN: shardc partition - -o - --mesh data=4 --spec arg0=data,- < %s | FileCheck %s
// RUN: shardc propagate - --mesh data=4 --spec arg0=data,- < %s | FileCheck %s --check-prefix=GLOBAL
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=data,- | true
// RUN: shardc opt --passes list | true

// CHECK: tensor<8x64xf32>
// GLOBAL: tensor<32x64xf32>
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
