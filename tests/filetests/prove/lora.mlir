// With zeros for every B, a program with adapters computes what it computed before, for every A and every dropout key. Zeros for every A
// suffice too, but one adapter that is not zero does not.
// RUN: shardc lora %S/../strategy/lora.mlir --rank 2 --dropout 0.5 -o %t.mlir --quiet
// RUN: shardc prove %S/../strategy/lora.mlir %t.mlir --zero "lora.*.b" | FileCheck %s
// RUN: shardc prove %S/../strategy/lora.mlir %t.mlir --zero "lora.*.a" | FileCheck %s
// RUN: not shardc prove %S/../strategy/lora.mlir %t.mlir --zero lora.h.up.b | FileCheck %s --check-prefix WRONG
// RUN: not shardc prove %S/../strategy/lora.mlir %t.mlir 2>&1 | FileCheck %s --check-prefix COUNT
// RUN: not shardc prove %S/../strategy/lora.mlir %t.mlir --zero h.up.kernel 2>&1 | FileCheck %s --check-prefix OWN

// CHECK: proven: in exact arithmetic, for all inputs; outputs proven: 1 of 1

// WRONG: refuted: results differ for random inputs; outputs proven: 0 of 1

// COUNT: error[SH0715]: the original has 4 arguments, and the partition 11
// COUNT: help: if the last arguments are additional ones, name those that are zero: `--zero NAME`

// OWN: error[SH0715]: h.up.kernel is not an argument that only the second program has
