// RUN: shardc partition %s -o - 2>&1 | FileCheck %s --implicit-check-not=all_gather --implicit-check-not=SH0310
//
// Updates at constant indices: a device uses the part of the update that overlaps its shard, and nothing is
// all-gathered. A start beyond the last valid index is clamped; a replicated update is written in place.

sdy.mesh @mesh = <["x"=8]>

// CHECK-LABEL: func.func public @main
func.func public @main(
    %a: tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<32768xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %w: tensor<100xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (
    tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // x.at[1:].set(x[:-1]): one element.
  // CHECK: collective_permute"{{.*}}tensor<1xf32>) -> tensor<1xf32>
  %0 = stablehlo.slice %a [0:65535] : (tensor<65536xf32>) -> tensor<65535xf32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %at = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %1 = "stablehlo.scatter"(%a, %at, %0) <{indices_are_sorted = true, unique_indices = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<65536xf32>, tensor<1xi32>, tensor<65535xf32>) -> tensor<65536xf32>
  // x.at[::2].add(y): each device has the part that it adds.
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.pad {{.*}}interior = [1]
  // CHECK: stablehlo.add
  // CHECK: stablehlo.select
  %i = stablehlo.iota dim = 0 : tensor<32768xi32>
  %two = stablehlo.constant dense<2> : tensor<32768xi32>
  %2 = stablehlo.multiply %i, %two : tensor<32768xi32>
  %3 = stablehlo.reshape %2 : (tensor<32768xi32>) -> tensor<32768x1xi32>
  %4 = "stablehlo.scatter"(%a, %3, %b) <{indices_are_sorted = true, unique_indices = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<65536xf32>, tensor<32768x1xi32>, tensor<32768xf32>) -> tensor<65536xf32>
  // A start beyond the last one is the last one.
  // CHECK-COUNT-2: collective_permute"{{.*}}tensor<4096xf32>) -> tensor<4096xf32>
  %far = stablehlo.constant dense<65000> : tensor<i32>
  %5 = stablehlo.dynamic_update_slice %a, %b, %far : (tensor<65536xf32>, tensor<32768xf32>, tensor<i32>) -> tensor<65536xf32>
  // CHECK-NOT: collective_permute
  // CHECK: return
  %start = stablehlo.constant dense<8190> : tensor<1xi32>
  %6 = "stablehlo.scatter"(%a, %start, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<65536xf32>, tensor<1xi32>, tensor<100xf32>) -> tensor<65536xf32>
  %7 = "stablehlo.scatter"(%a, %start, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.subtract %y, %x : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<65536xf32>, tensor<1xi32>, tensor<100xf32>) -> tensor<65536xf32>
  return %1, %4, %5, %6, %7 : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>
}
