// A mesh with explicit devices gives device lists, or an iota if it is equivalent.
// RUN: shardc opt %s --passes export-gspmd | FileCheck %s

// CHECK: %arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]3,1,0,2}"}
// CHECK-SAME: %arg1: tensor<8x8xf32> {mhlo.sharding = "{devices=[1,2,2]0,3,1,2 last_tile_dim_replicate}"}
// CHECK-SAME: %arg2: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0)}"}
// CHECK-SAME: %arg3: tensor<8x8xf32> {mhlo.sharding = "{maximal device=2}"}
sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 0, 2]>
sdy.mesh @turned = <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
sdy.mesh @one = <[], device_ids=[2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
                %c: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@turned, [{"x"}, {"y"}]>},
                %d: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8x8xf32> {
  return %a : tensor<8x8xf32>
}
