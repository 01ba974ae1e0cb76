// RUN: shardc opt %s --passes propagate,fold-slices,dce | FileCheck %s --check-prefix=FOLDED
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_gather
//
// A roll is one window of its operand: a shift by a part of a shard takes one collective-permute, a shift by whole
// shards one, any other shift two. Slices of an unsharded dimension are kept.

sdy.mesh @mesh = <["x"=4]>

// FOLDED-LABEL: func.func public @main
// FOLDED: %[[PART:.*]] = "shardc.splice"(%arg0) <{dimension = 0 : i64, pieces = array<i64: 0, 1, 16, 0, 0, 1>}>
// FOLDED: %[[BLOCKS:.*]] = "shardc.splice"(%arg0) <{dimension = 0 : i64, pieces = array<i64: 0, 8, 16, 0, 0, 8>}>
// FOLDED: %[[BOTH:.*]] = "shardc.splice"(%arg0) <{dimension = 0 : i64, pieces = array<i64: 0, 6, 16, 0, 0, 6>}>
// FOLDED: stablehlo.concatenate
// FOLDED: return %[[PART]], %[[BLOCKS]], %[[BOTH]]
// CHECK-LABEL: func.func public @main
func.func public @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [1:16, 0:8] : (tensor<16x8xf32>) -> tensor<15x8xf32>
  %1 = stablehlo.slice %a [0:1, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<15x8xf32>, tensor<1x8xf32>) -> tensor<16x8xf32>
  %3 = stablehlo.slice %a [8:16, 0:8] : (tensor<16x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.slice %a [0:8, 0:8] : (tensor<16x8xf32>) -> tensor<8x8xf32>
  %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %6 = stablehlo.slice %a [6:16, 0:8] : (tensor<16x8xf32>) -> tensor<10x8xf32>
  %7 = stablehlo.slice %a [0:6, 0:8] : (tensor<16x8xf32>) -> tensor<6x8xf32>
  %8 = stablehlo.concatenate %6, %7, dim = 0 : (tensor<10x8xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
  %9 = stablehlo.slice %a [0:16, 3:8] : (tensor<16x8xf32>) -> tensor<16x5xf32>
  %10 = stablehlo.slice %a [0:16, 0:3] : (tensor<16x8xf32>) -> tensor<16x3xf32>
  %11 = stablehlo.concatenate %9, %10, dim = 1 : (tensor<16x5xf32>, tensor<16x3xf32>) -> tensor<16x8xf32>
  // Slabs that go the same way travel together.
  // CHECK-COUNT-2: collective_permute
  // CHECK-NOT: collective_permute
  return %2, %5, %8, %11 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}
