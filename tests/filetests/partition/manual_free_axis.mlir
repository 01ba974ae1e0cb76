// Along a free axis, the body of a manual computation is partitioned like any program: its matmul is sharded, and a
// sum over the free axis is completed at each manual coordinate. The program's own collectives work on local values.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_gather --implicit-check-not=dynamic_slice

// CHECK: func.func @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4x6xf32>) -> tensor<4x6xf32> {
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<{{\[}}[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: stablehlo.dot_general {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: "stablehlo.all_reduce"{{.*}} <{replica_groups = dense<{{\[}}[0, 1], [2, 3]]> : tensor<2x2xi64>}>
// CHECK: "stablehlo.collective_broadcast"{{.*}} <{replica_groups = dense<{{\[}}[0, 2], [1, 3]]> : tensor<2x2xi64>}>
sdy.mesh @mesh = <["m"=2, "f"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {"f"}]>}, %w: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"f"}, {}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}) {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{"m", ?}, {?}]>, <@mesh, [{?}, {?}]>] out_shardings=[<@mesh, [{"m", ?}, {?}]>] manual_axes={"m"} (%p: tensor<4x8xf32>, %q: tensor<8x6xf32>) {
    %1 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.dot_general %1, %q, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.collective_broadcast"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    sdy.return %3 : tensor<4x6xf32>
  } : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
