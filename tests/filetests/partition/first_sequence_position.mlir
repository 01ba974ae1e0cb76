// The first position of sharded sequences, as a classifier reads it: an all-reduce of that position.
// RUN: shardc partition %s --strict --warn-bytes 0 -o - | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK-NOT: all_gather
// CHECK: %[[FIRST:.*]] = stablehlo.slice %arg0 [0:16, 0:1, 0:256]
// CHECK: %[[OWN:.*]] = stablehlo.select %{{.*}}, %[[FIRST]]
// CHECK: "stablehlo.all_reduce"(%[[OWN]])
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<16x256xf32>, tensor<256x32xf32>)
// CHECK-NOT: all_gather
func.func public @main(
    %h: tensor<16x512x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
    %w: tensor<256x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<16x32xf32> {
  %0 = stablehlo.slice %h [0:16, 0:1, 0:256] : (tensor<16x512x256xf32>) -> tensor<16x1x256xf32>
  %1 = stablehlo.reshape %0 : (tensor<16x1x256xf32>) -> tensor<16x256xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<16x256xf32>, tensor<256x32xf32>) -> tensor<16x32xf32>
  %3 = stablehlo.tanh %2 : tensor<16x32xf32>
  return %3 : tensor<16x32xf32>
}
