// Errors of snapshots name the line and what was expected there.
// RUN: not shardc diff %S/bad_row.snapshot %S/bad_row.snapshot 2>&1 | FileCheck %s
// RUN: not shardc diff %S/version_9.snapshot %S/version_9.snapshot 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not shardc diff %s %s --threshold many 2>&1 | FileCheck %s --check-prefix=PERCENT

// CHECK: error[SH1503]: line 4 of the snapshot: expected a row of `memory:`, such as `peak  4096`
// CHECK: bad_row.snapshot:4
// CHECK: help: {{.*}}`shardc snapshot`
// VERSION: error[SH1502]: the snapshot has version 9
// PERCENT: expected a percentage, as in 1% or 0.5%
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
