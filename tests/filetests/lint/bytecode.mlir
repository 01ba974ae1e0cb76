// Bytecode is linted like text.
// RUN: shardc opt %s --emit bytecode -o %t.mlirbc
// RUN: shardc lint %t.mlirbc | FileCheck %s

// CHECK: warning[SH0902]
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x64xf32> {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
