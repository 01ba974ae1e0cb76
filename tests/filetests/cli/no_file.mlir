// The file does not exist.
// RUN: not shardc partition %t.absent.mlir -o - 2>&1 | FileCheck %s
// CHECK: error: cannot read {{.*}}absent.mlir: No such file or directory
