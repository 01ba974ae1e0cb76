// A function that is never called is kept unchanged: a collective in it that is invalid in the partitioned program is
// an error in the input.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0304]: in @other, which is not partitioned: stablehlo.all_reduce has a channel or use_global_device_ids, but devices are replicas
// CHECK: help: only @main and its callees are partitioned: call the function, or remove it
// CHECK-NOT: bug in shardc
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
