// Two users that need a value in the same other sharding share one reshard.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["data"=4]>

// CHECK: %[[W:.*]] = sdy.reshard %arg2 <@mesh, [{}, {}]> : tensor<16x16xf32>
// CHECK-NOT: sdy.reshard
// CHECK: stablehlo.dot_general %arg0, %[[W]],
// CHECK-NOT: sdy.reshard
// CHECK: stablehlo.dot_general %arg1, %[[W]],
func.func @main(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  return %0, %1 : tensor<64x16xf32>, tensor<64x16xf32>
}
