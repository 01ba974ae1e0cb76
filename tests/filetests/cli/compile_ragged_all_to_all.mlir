// XLA's TPU compiler takes ragged_all_to_all between partitions only. Without a mode the program is one of partitions, and the
// exchange stays ragged; as one of replicas it is written densely. Neither ends the compiler's process.
// REQUIRES: tpu-plugin
// RUN: shardc compile %S/../../programs/small/ragged_all_to_all.mlir --target tpu:v5e:2x2 | FileCheck %s
// RUN: shardc compile %S/../../programs/small/ragged_all_to_all.mlir --target tpu:v5e:2x2 --spmd-mode partition | FileCheck %s
// RUN: shardc compile %S/../../programs/small/ragged_all_to_all.mlir --target tpu:v5e:2x2 --spmd-mode replica | FileCheck %s --check-prefix=REPLICAS

// CHECK: ragged-all-to-all 1
// REPLICAS-NOT: ragged-all-to-all
// REPLICAS: all-gather
