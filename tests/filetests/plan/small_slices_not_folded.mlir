// RUN: shardc opt %s --passes propagate,fold-slices,dce | FileCheck %s
// One of 64 devices would send its rows to each of the others in
// turn: the slices are kept, and planned separately.

sdy.mesh @mesh = <["x"=64]>

// CHECK-LABEL: func.func public @main
// CHECK-NOT: shardc.splice
// CHECK: stablehlo.concatenate
func.func public @main(
    %a: tensor<4096x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<4096x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<128x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:64, 0:8] : (tensor<4096x8xf32>) -> tensor<64x8xf32>
  %1 = stablehlo.slice %b [0:64, 0:8] : (tensor<4096x8xf32>) -> tensor<64x8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<128x8xf32>
  return %2 : tensor<128x8xf32>
}
