// MLIR bytecode is not read yet, and said to be what it is.
// RUN: printf 'ML\357R\001' > %t.mlirbc
// RUN: not shardc opt %t.mlirbc 2>&1 | FileCheck %s
// CHECK: error: the input is not StableHLO text: {{.*}}this is MLIR bytecode, write it as text first
