// The same program as pretty text and as generic text.
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=data,- | FileCheck %s --check-prefix=PRETTY
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=data,- --emit generic | FileCheck %s --check-prefix=GENERIC

// PRETTY: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
// GENERIC: "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
