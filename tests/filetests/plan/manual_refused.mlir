// Operations without meaning in a manual computation: devices with equal manual coordinates must be treated equally.
// RUN: not shardc opt %s --split-input-file --passes propagate,plan 2>&1 | FileCheck %s

sdy.mesh @mesh = <["m"=2, "f"=2]>
// CHECK: error[SH0312]: the replica groups of stablehlo.all_gather are not equal at all coordinates along f, which is not manual here
func.func @main(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m"}]>] out_shardings=[<@mesh, [{"m"}]>] manual_axes={"m"} (%p: tensor<4xf32>) {
    %1 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

sdy.mesh @mesh = <["m"=2, "f"=2]>
// CHECK: error[SH0312]: device 2 is in 0 groups of stablehlo.all_gather
// CHECK: = help: each device of the mesh must be in exactly one replica group
func.func @main(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m"}]>] out_shardings=[<@mesh, [{"m"}]>] manual_axes={"m", "f"} (%p: tensor<4xf32>) {
    %1 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
