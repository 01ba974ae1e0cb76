// A ragged_all_to_all between devices gives the results of one device in both modes, and so does its tangent.
// RUN: shardc verify %s | FileCheck %s
// RUN: shardc verify %s --spmd-mode partition | FileCheck %s
// RUN: shardc jvp %s --wrt x,init -o %t && shardc verify %t | FileCheck %s
// CHECK: ok: {{[12]}} of {{[12]}} outputs equal

sdy.mesh @mesh = <["a"=2, "d"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"a"}]>}, %init: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"a"}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"a"}]>}) {
  %0 = sdy.manual_computation(%x, %init) in_shardings=[<@mesh, [{"d"}, {?}]>, <@mesh, [{"d"}, {?}]>] out_shardings=[<@mesh, [{"d"}, {?}]>] manual_axes={"d"} (%rows: tensor<4x4xf32>, %into: tensor<8x4xf32>) {
    %id = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %d32 = stablehlo.remainder %id, %two : tensor<ui32>
    %d = stablehlo.convert %d32 : (tensor<ui32>) -> tensor<i32>
    %place = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %one = stablehlo.constant dense<1> : tensor<2xi32>
    %input_offsets = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %send_sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %output_offsets = stablehlo.multiply %place, %send_sizes : tensor<2xi32>
    %receive_sizes = stablehlo.add %place, %one : tensor<2xi32>
    %1 = stablehlo.custom_call @ragged_all_to_all(%rows, %into, %input_offsets, %send_sizes, %output_offsets, %receive_sizes) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8x4xf32>
    sdy.return %1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
