// A channel marks a collective among partitions: in replica mode there is none, also not in a custom call.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc partition %s --spmd-mode partition -o - | FileCheck %s --check-prefix=PARTITIONS
sdy.mesh @mesh = <["d"=2]>
func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>, %arg2: tensor<4xi32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%arg0, %arg1, %arg2) in_shardings=[<@mesh, [{"d"}, {}]>, <@mesh, [{"d"}, {}]>, <@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}, {}]>] manual_axes={"d"} (%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %n: tensor<2xi32>) {
    // CHECK: @ragged_all_to_all({{.*}}backend_config = {replica_groups =
    // PARTITIONS: @ragged_all_to_all({{.*}}backend_config = {channel_id = 1 : i64, replica_groups =
    %1 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %n, %n, %n, %n) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x4xf32>
    sdy.return %1 : tensor<4x4xf32>
  } : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xi32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
