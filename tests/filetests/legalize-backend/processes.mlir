// Collectives across processes of the CPU client become calls of the runtime; those within a process stay, with its local device ids.
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu processes=2}' --spmd-mode replica | FileCheck %s
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' --spmd-mode replica | FileCheck %s --check-prefix=ONE

// CHECK: mhlo.num_replicas = 2
// ONE-NOT: shardc.
module @program attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<4x2xf32>, %b: tensor<2xi1>) -> (tensor<4x2xf32>, tensor<8x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<2xi1>, tensor<ui32>) {
    // Groups within processes.
    // CHECK: stablehlo.all_reduce
    // CHECK-SAME: dense<{{\[\[}}0, 1]]>
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    // CHECK: %[[FIRST:.*]] = stablehlo.custom_call @shardc.first_device()
    // CHECK-SAME: api_version = 4 : i32
    // CHECK: stablehlo.custom_call @shardc.collective
    // CHECK-SAME: collective = "all_gather channel=0 per=2 dim=0 types=f32 groups=0,2;1,3"
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x2xf32>) -> tensor<8x2xf32>
    // CHECK: collective = "collective_permute channel=1 per=2 types=f32 groups=0,1;1,2;2,3"
    %2 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
    // CHECK: collective = "all_to_all channel=2 per=2 split=0 concat=1 types=f32 groups=0,1,2,3"
    %3 = "stablehlo.all_to_all"(%1) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x2xf32>) -> tensor<2x8xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x8xf32>) -> tensor<8x2xf32>
    // CHECK: collective = "reduce_scatter channel=3 per=2 by=max dim=0 types=f32 groups=0,2;1,3"
    // CHECK-SAME: has_side_effect = true
    %5 = "stablehlo.reduce_scatter"(%4) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.maximum %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x2xf32>) -> tensor<4x2xf32>
    // No groups are all devices.
    // CHECK: collective = "all_reduce channel=4 per=2 by=or types=i1 groups=0,1,2,3"
    %6 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
    ^bb0(%l: tensor<i1>, %r: tensor<i1>):
      %s = stablehlo.or %l, %r : tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<2xi1>) -> tensor<2xi1>
    // CHECK: %[[LOCAL:.*]] = stablehlo.replica_id
    // CHECK: stablehlo.add %{{.*}}, %[[LOCAL]] : tensor<ui32>
    %7 = stablehlo.replica_id : tensor<ui32>
    return %0, %1, %2, %5, %6, %7 : tensor<4x2xf32>, tensor<8x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<2xi1>, tensor<ui32>
  }
}
