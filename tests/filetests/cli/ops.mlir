// The coverage of operations is measured; the page of the documentation is the output of the command.
// RUN: shardc ops --markdown | diff %S/../../../docs/OPS.md -
// RUN: shardc ops dot_general | FileCheck %s
// RUN: shardc ops sort --json | FileCheck %s --check-prefix=JSON
// RUN: not shardc ops nothing 2>&1 | FileCheck %s --check-prefix=NOTHING

// CHECK: operation operands -> results derivative factor role even uneven
// CHECK-NEXT: stablehlo.dot_general [i,j,l],[i,l,k] -> [i,j,k] yes i pass-through local local
// CHECK: l reduction collective masked + collective
// JSON: "operation": "stablehlo.sort"
// JSON: "even": "local"
// NOTHING: no operation is called nothing
