// A device id is converted to a predicate as `!= 0`: device 2 takes another branch than device 0, which would deadlock.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0326]: devices 0 and 2 take part in this stablehlo.all_reduce, but the condition on which they execute it may differ between them
sdy.mesh @mesh = <["a"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%y: tensor<2xf32>) {
    %p = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.convert %p : (tensor<ui32>) -> tensor<i1>
    %n = "stablehlo.if"(%c) ({
      %s = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1, 3], [0, 2]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p0: tensor<f32>, %p1: tensor<f32>):
        %z = stablehlo.add %p0, %p1 : tensor<f32>
        stablehlo.return %z : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      stablehlo.return %s : tensor<2xf32>
    }, {
      stablehlo.return %y : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    sdy.return %n : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
