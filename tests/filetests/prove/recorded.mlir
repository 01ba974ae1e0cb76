// XLA records the shardings of parameters and results in its partition, so that the original needs none.
// RUN: shardc prove %s %S/Inputs/recorded.part | FileCheck %s
// RUN: sed 's/return %3/return %2/' %S/Inputs/recorded.part > %t.dropped.mlir
// RUN: not shardc prove %s %t.dropped.mlir | FileCheck %s --check-prefix DROPPED
// RUN: sed 's/ attributes .*{$/ {/' %S/Inputs/recorded.part > %t.nothing.mlir
// RUN: not shardc prove %s %t.nothing.mlir 2>&1 | FileCheck %s --check-prefix MESH

// CHECK: proven: in exact arithmetic, for all inputs; outputs proven: 1 of 1

// DROPPED: refuted: {{.*}}; outputs proven: 0 of 1
// DROPPED: a partial sum: it is not combined over device % 4

// MESH: error[SH0715]: the original has no mesh
// MESH: help: annotate arguments and results of the original with the shardings that the other compiler chose
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.tanh %x : tensor<8x4xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}
