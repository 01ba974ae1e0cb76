// A manual computation is replaced by its body. Its collective keeps its devices, in the form of the mode.
// RUN: shardc partition %s -o - | FileCheck %s --check-prefixes=CHECK,REPLICA
// RUN: shardc partition %s --spmd-mode partition -o - | FileCheck %s --check-prefixes=CHECK,PARTITION

// CHECK: func.func @main(%arg0: tensor<4x4xf32>{{.*}}) -> (tensor<4x4xf32>
// CHECK-NEXT: "stablehlo.all_reduce"(%arg0)
// REPLICA-SAME: <{replica_groups = dense<{{\[}}[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}>
// PARTITION-SAME: channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[}}[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids
// REPLICA: stablehlo.replica_id
// PARTITION: stablehlo.partition_id
// CHECK-NOT: sdy.
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> (tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}, tensor<8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}]>}) {
  %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{}, {"b"}]>, <@mesh, [{"a", "b"}]>] manual_axes={"a", "b"} (%p: tensor<4x4xf32>) {
    %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %2 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.partition_id : tensor<ui32>
    %4 = stablehlo.reshape %3 : (tensor<ui32>) -> tensor<1xui32>
    sdy.return %1, %4 : tensor<4x4xf32>, tensor<1xui32>
  } : (tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<8xui32>)
  return %0#0, %0#1 : tensor<4x16xf32>, tensor<8xui32>
}
