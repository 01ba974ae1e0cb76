// A damaged partition is refuted, one damage of each class: no or another reduction, other groups, exchanged members, a shifted offset.
// RUN: shardc prove %s %S/Inputs/step.part %S/Inputs/step.json | FileCheck %s
// RUN: sed 's/return %3/return %2/' %S/Inputs/step.part > %t.dropped.mlir
// RUN: not shardc prove %s %t.dropped.mlir %S/Inputs/step.json | FileCheck %s --check-prefix DROPPED
// RUN: sed 's/= stablehlo.add %p, %q/= stablehlo.maximum %p, %q/' %S/Inputs/step.part > %t.reduction.mlir
// RUN: not shardc prove %s %t.reduction.mlir %S/Inputs/step.json | FileCheck %s --check-prefix WRONG
// RUN: sed 's/\[\[0, 1\], \[2, 3\]\]/[[0, 2], [1, 3]]/' %S/Inputs/step.part > %t.groups.mlir
// RUN: not shardc prove %s %t.groups.mlir %S/Inputs/step.json | FileCheck %s --check-prefix WRONG
// RUN: sed 's/\[\[0, 1, 2, 3\]\]/[[0, 2, 1, 3]]/' %S/Inputs/step.part > %t.members.mlir
// RUN: not shardc prove %s %t.members.mlir %S/Inputs/step.json | FileCheck %s --check-prefix WRONG
// RUN: sed 's/%four = stablehlo.constant dense<4>/%four = stablehlo.constant dense<3>/' %S/Inputs/step.part > %t.offset.mlir
// RUN: not shardc prove %s %t.offset.mlir %S/Inputs/step.json | FileCheck %s --check-prefix WRONG
// RUN: sed 's/subtract %x, %0/subtract %0, %x/' %S/Inputs/step.part > %t.swapped.mlir
// RUN: not shardc prove %s %t.swapped.mlir %S/Inputs/step.json | FileCheck %s --check-prefix WRONG

// CHECK: proven: in exact arithmetic, for all inputs; outputs proven: 2 of 2

// DROPPED: refuted: an output is a partial result in place of the complete value; outputs proven: 1 of 2
// DROPPED-NEXT: stablehlo.{{.*}} at {{.*}}.dropped.mlir:{{[0-9]+}}: a partial sum: it is not combined over device % 2

// WRONG: refuted: results differ for random inputs; outputs proven: 1 of 2
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %t: tensor<8xf32>) -> (tensor<4x6xf32>, tensor<8xf32>) {
  %0 = stablehlo.exponential %w : tensor<8x6xf32>
  %1 = stablehlo.tanh %x : tensor<4x8xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<4x8xf32>
  %3 = stablehlo.dot_general %2, %0, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %3, %t : tensor<4x6xf32>, tensor<8xf32>
}
