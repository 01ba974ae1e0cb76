// Shardings with a named mesh define the mesh; tiles are mapped onto it.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}], unreduced={"y":(2)2}>}
// CHECK-SAME: %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}
// CHECK-SAME: %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}
func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}], unreduced={'y':(2)2}}"},
                %b: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"},
                %c: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=2,'y'=4], replicated}"}) -> tensor<8x8xf32> {
  return %a : tensor<8x8xf32>
}
