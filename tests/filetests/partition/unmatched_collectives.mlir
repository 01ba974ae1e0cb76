// Collectives that only some devices of a group reach would deadlock, and are rejected.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: not shardc partition %s -o %t.mlir --spmd-mode partition 2>&1 | FileCheck %s

// CHECK: error[SH0326]: devices 0 and 2 take part in this stablehlo.all_reduce, but the condition on which they execute it may differ between them
// CHECK: unmatched_collectives.mlir:[[# @LINE + 11]]:
// CHECK: help: make the condition depend on a value that is equal on all devices of the group
// CHECK-NOT: SH0462
// CHECK-NOT: bug in shardc
sdy.mesh @mesh = <["a"=4]>
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<16xf32> {
  %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    %id = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<2> : tensor<ui32>
    %p = stablehlo.compare LT, %id, %c, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %q = "stablehlo.if"(%p) ({
      %s = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%u: tensor<f32>, %v: tensor<f32>):
        %w = stablehlo.add %u, %v : tensor<f32>
        stablehlo.return %w : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %s : tensor<4xf32>
    }, {
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    sdy.return %q : tensor<4xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
