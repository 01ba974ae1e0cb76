// An all_gather of the program itself, in an entry function that is not called main. With a channel it is among all
// devices. Without one it is among replicas, which a program with one replica per device has, too. Global ids without a
// channel are invalid, and dropping the mesh before localization leaves an invalid body: both are errors in the input.
// RUN: split-file %s %t
// RUN: shardc partition %t/channel.mlir -o - | FileCheck %s
// RUN: shardc partition %t/channel.mlir -o - --spmd-mode partition | FileCheck %s
// RUN: shardc partition %t/no_channel.mlir -o - | FileCheck %s
// RUN: shardc partition %t/no_channel.mlir -o - --spmd-mode partition | FileCheck %s
// RUN: shardc partition %t/no_channel.mlir -o - | shardc opt - --passes verify-collectives | FileCheck %s
// RUN: shardc lint %t/channel.mlir | FileCheck %s --check-prefix=LINT
// RUN: shardc explain %t/channel.mlir | FileCheck %s --check-prefix=EXPLAIN
// RUN: not shardc partition %t/ids.mlir -o - 2>&1 | FileCheck %s --check-prefix=IDS
// RUN: not shardc opt %t/channel.mlir --passes sdy-drop-sharding-and-mesh,localize 2>&1 | FileCheck %s --check-prefix=DROPPED
// RUN: not shardc opt %t/channel.mlir --passes sdy-export-pipeline,verify-collectives 2>&1 | FileCheck %s --check-prefix=DEVICES

// CHECK: func.func @gathers(%arg0: tensor<4x8xf32>{{.*}}) -> {{.*}}tensor<16x8xf32>
// CHECK-NEXT: "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64,{{.*}} replica_groups = dense<{{\[\[}}0, 1, 2, 3]]>
// LINT: no warnings
// EXPLAIN: 384 B {{ *}}#0 all_gather of tensor<4x8xf32> along x, weight, for stablehlo.all_gather
// IDS: error[SH0214]: stablehlo.all_gather has use_global_device_ids but no channel
// IDS: = help: add a channel_handle with a positive handle
// DROPPED: error[SH0392]: the pass localize needs the output of plan and lower-reshards
// DROPPED-NOT: bug in shardc
// DEVICES: error[SH0460]: the module does not specify its number of devices
// DEVICES-NOT: bug in shardc

//--- channel.mlir
sdy.mesh @mesh = <["x"=4]>
func.func @gathers(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
    sdy.return %1 : tensor<16x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

//--- no_channel.mlir
sdy.mesh @mesh = <["x"=4]>
func.func @gathers(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
    sdy.return %1 : tensor<16x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

//--- ids.mlir
sdy.mesh @mesh = <["x"=4]>
func.func @gathers(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
    sdy.return %1 : tensor<16x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
