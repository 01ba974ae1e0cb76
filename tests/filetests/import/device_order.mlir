// Tiles whose devices are not a transposed iota give a mesh with explicit devices.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK: sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2], device_ids=[3, 1, 2, 0]>
// CHECK: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {"axis_1"}]>}
// CHECK-SAME: %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {"axis_0"}]>}
// CHECK-SAME: %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>}
func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]3,1,2,0}"},
                %b: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]3,2,1,0}"},
                %c: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,2]1,3,0,2 last_tile_dim_replicate}"}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>
  %1 = stablehlo.add %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
