// Operations that cannot run in several processes are rejected with a hint.
// RUN: not shardc opt %s --passes 'legalize-backend{target=cpu processes=2}' --spmd-mode replica 2>&1 | FileCheck %s
// RUN: not shardc opt %s --passes 'legalize-backend{target=cpu processes=8}' --spmd-mode replica 2>&1 | FileCheck %s --check-prefix=UNEVEN

// CHECK: SH0511
// CHECK-SAME: `stablehlo.all_gather` of i4 (elements of less than a byte) is not supported across processes with XLA's CPU client
// UNEVEN: SH0512
// UNEVEN-SAME: 4 devices cannot be divided evenly among 8 processes
module @program attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<4xi4>) -> tensor<16xi4> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4xi4>) -> tensor<16xi4>
    return %0 : tensor<16xi4>
  }
}
