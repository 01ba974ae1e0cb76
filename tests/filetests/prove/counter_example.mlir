// A counter-example has only the operations that differ, and is refuted again: without an all-reduce, and with other groups.
// RUN: sed 's/return %3/return %2/' %S/Inputs/step.part > %t.dropped.mlir
// RUN: not shardc prove %S/damaged.mlir %t.dropped.mlir %S/Inputs/step.json --counter-example %t.dropped | FileCheck %s --check-prefix DROPPED
// RUN: cat %t.dropped/original.mlir | FileCheck %s --check-prefix ORIGINAL
// RUN: cat %t.dropped/difference.json | FileCheck %s --check-prefix ELEMENT
// RUN: not shardc prove %t.dropped/original.mlir %t.dropped/partitioned.mlir %t.dropped/manifest.json | FileCheck %s --check-prefix AGAIN
// RUN: sed 's/\[\[0, 1\], \[2, 3\]\]/[[0, 2], [1, 3]]/' %S/Inputs/step.part > %t.groups.mlir
// RUN: not shardc prove %S/damaged.mlir %t.groups.mlir %S/Inputs/step.json --counter-example %t.groups | FileCheck %s --check-prefix GROUPS
// RUN: not shardc prove %t.groups/original.mlir %t.groups/partitioned.mlir %t.groups/manifest.json | FileCheck %s --check-prefix AGAIN
// RUN: not shardc prove %S/damaged.mlir %t.groups.mlir %S/Inputs/step.json --work-limit 100 | FileCheck %s --check-prefix PART
// RUN: shardc prove %S/damaged.mlir %S/Inputs/step.part %S/Inputs/step.json --counter-example %t.none | FileCheck %s --check-prefix NONE

// DROPPED: counter-example in {{.*}}: a value inside differs (operations: 1 in place of 1); element [0, 0] of the result is {{.*}} instead of {{.*}} on device 0

// ORIGINAL: func.func @main(%arg0: tensor<2x1xf32>, %arg1: tensor<2x2xf32>) -> tensor<2x1xf32>
// ORIGINAL-NEXT: stablehlo.dot_general
// ORIGINAL-NEXT: return

// ELEMENT: "arithmetic": "float"
// ELEMENT: "expected":

// AGAIN: refuted:

// GROUPS: counter-example in {{.*}}: a value inside differs (operations: {{[0-9]+}} in place of {{[0-9]+}});

// PART: refuted: the programs were not run, but a value inside differs; outputs proven: 1 of 2
// PART-NEXT: stablehlo.all_reduce at {{.*}}.groups.mlir:{{[0-9]+}}: another function of its arguments than in the original

// NONE: proven:
// NONE-NOT: counter-example
