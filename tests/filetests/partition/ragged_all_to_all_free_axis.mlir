// A ragged_all_to_all in a computation that is manual along one axis: columns stay sharded along the other, in both
// modes. Its bytes are counted as at most all rows of a device.
// RUN: shardc partition %s --warn-bytes 0 -o - 2>&1 | FileCheck %s
// RUN: shardc partition %s --warn-bytes 0 --spmd-mode partition -o - 2>&1 | FileCheck %s --check-prefix=PARTITIONS
// RUN: shardc partition %s --summary -o %t 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: shardc explain %s 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// CHECK-NOT: all_gather
// CHECK: @ragged_all_to_all({{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>{{.*}} -> tensor<8x2xf32>
// PARTITIONS-NOT: all_gather
// PARTITIONS: @ragged_all_to_all({{.*}}channel_id = 1 : i64, replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>{{.*}} -> tensor<8x2xf32>
// SUMMARY: ragged_all_to_all
// EXPLAIN: ragged_all_to_all

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
