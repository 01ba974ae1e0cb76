// A ragged_all_to_all in a computation that is manual over one axis: the columns stay split along the other, in both modes.
// Its bytes are counted: at most all rows that a device has.
// RUN: shardc partition %S/../../programs/small/ragged_all_to_all.mlir --warn-bytes 0 -o - 2>&1 | FileCheck %s
// RUN: shardc partition %S/../../programs/small/ragged_all_to_all.mlir --warn-bytes 0 --spmd-mode partition -o - 2>&1 | FileCheck %s --check-prefix=PARTITIONS
// RUN: shardc partition %S/../../programs/small/ragged_all_to_all.mlir --summary 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: shardc explain %S/../../programs/small/ragged_all_to_all.mlir 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// CHECK-NOT: all_gather
// CHECK: @ragged_all_to_all({{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>{{.*}} -> tensor<8x2xf32>
// PARTITIONS-NOT: all_gather
// PARTITIONS: @ragged_all_to_all({{.*}}channel_id = 1 : i64, replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>{{.*}} -> tensor<8x2xf32>
// SUMMARY: ragged_all_to_all
// EXPLAIN: ragged_all_to_all
