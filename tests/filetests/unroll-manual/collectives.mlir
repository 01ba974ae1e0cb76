// The body is copied once for each manual coordinate; free axes have no copies. Collectives become arithmetic between the copies.
// RUN: shardc opt %s --passes unroll-manual | FileCheck %s

// CHECK: func.func @main(%[[X:.*]]: tensor<4x6xf32>
// CHECK-DAG: %[[A:.*]] = stablehlo.slice %[[X]] [0:2, 0:6]
// CHECK-DAG: %[[B:.*]] = stablehlo.slice %[[X]] [2:4, 0:6]
// CHECK: %[[SUM:.*]] = stablehlo.add %[[A]], %[[B]] : tensor<2x6xf32>
// CHECK: %[[ALL:.*]] = stablehlo.concatenate %[[B]], %[[A]], dim = 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
// CHECK: %[[NONE:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x6xf32>
// CHECK: %[[C:.*]] = stablehlo.subtract %[[SUM]], %[[NONE]]
// CHECK: %[[D:.*]] = stablehlo.subtract %[[SUM]], %[[A]]
// CHECK: %[[R:.*]] = stablehlo.concatenate %[[C]], %[[D]], dim = 0
// CHECK: return %[[R]], %[[ALL]]
sdy.mesh @mesh = <["m"=2, "f"=2]>
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m"}, {"f"}]>] out_shardings=[<@mesh, [{"m"}, {}]>, <@mesh, [{}, {}]>] manual_axes={"m"} (%p: tensor<2x6xf32>) {
    %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %2 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %4 = stablehlo.subtract %1, %3 : tensor<2x6xf32>
    sdy.return %4, %2 : tensor<2x6xf32>, tensor<4x6xf32>
  } : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4x6xf32>
}
