// Collectives whose root is known only at run time become all-reduces; a broadcast all-reduces bits.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=collective_
sdy.mesh @mesh = <["x"=4]>
// CHECK-LABEL: func.func public @main
func.func public @main(%arg0: tensor<16x8xbf16>, %arg1: tensor<16xi32>, %root: tensor<2xi32>) -> (tensor<16x8xbf16>, tensor<16xi32>, tensor<16xi32>) {
  %0:3 = sdy.manual_computation(%arg0, %arg1, %root) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<4x8xbf16>, %y: tensor<4xi32>, %r: tensor<2xi32>) {
    // Device 2 is in no group, and gets zeros.
    // CHECK: stablehlo.constant dense<[1, 0, -1, 2]> : tensor<4xi32>
    // CHECK: stablehlo.bitcast_convert %arg0 : (tensor<4x8xbf16>) -> tensor<4x8xui16>
    // CHECK: "stablehlo.all_reduce"{{.*}}dense<{{\[\[}}1, 0, 3], [2, -1, -1]]>
    // CHECK: "stablehlo.all_reduce"
    %1:2 = "stablehlo.collective_broadcast"(%x, %y, %r) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, has_dynamic_root, replica_groups = dense<[[1, 0, 3]]> : tensor<1x3xi64>}> : (tensor<4x8xbf16>, tensor<4xi32>, tensor<2xi32>) -> (tensor<4x8xbf16>, tensor<4xi32>)
    // CHECK: "stablehlo.all_reduce"
    // CHECK: stablehlo.maximum
    %2 = "stablehlo.collective_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %3 = stablehlo.maximum %a, %b : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    sdy.return %1#0, %1#1, %2 : tensor<4x8xbf16>, tensor<4xi32>, tensor<4xi32>
  } : (tensor<16x8xbf16>, tensor<16xi32>, tensor<2xi32>) -> (tensor<16x8xbf16>, tensor<16xi32>, tensor<16xi32>)
  return %0#0, %0#1, %0#2 : tensor<16x8xbf16>, tensor<16xi32>, tensor<16xi32>
}
