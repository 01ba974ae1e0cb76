// With a search, each target has one row, with the mesh that the search chooses.
// RUN: shardc plan %s --sweep v5p --auto | FileCheck %s

// CHECK: target devices mesh strategy
// CHECK-COUNT-7: auto
// CHECK-NOT: auto

func.func @main(%x: tensor<65536x4096xbf16>) -> tensor<65536x4096xbf16> {
  %0 = stablehlo.tanh %x : tensor<65536x4096xbf16>
  return %0 : tensor<65536x4096xbf16>
}
