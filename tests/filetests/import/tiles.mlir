// All forms of tile assignments give one mesh: the coarsest on which each of them is a list of axes.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s
// RUN: shardc opt %s --passes xla-sdy-import-shardings | FileCheck %s
// RUN: shardc propagate %s --mesh data=2,seq=2,model=2 | FileCheck %s --check-prefix=GIVEN
// RUN: shardc propagate %s --mesh data=2,seq=2,model=2 --spec arg1=model,data | FileCheck %s --check-prefix=SPEC

// CHECK: sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2, "axis_2"=2]>
// GIVEN: sdy.mesh @mesh = <["data"=2, "seq"=2, "model"=2]>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {"axis_1", "axis_2"}]>}
// CHECK-SAME: %arg1: tensor<8x8xf32> {jax.arg_info = "x", sdy.sharding = #sdy.sharding<@mesh, [{"axis_2"}, {"axis_0", "axis_1"}]>}
// CHECK-SAME: %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {}]>}
// CHECK-SAME: %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: %arg4: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0", "axis_2"}, {}]>})
// GIVEN: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"seq", "model"}]>}
// SPEC: %arg1: tensor<8x8xf32> {jax.arg_info = "x", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}
func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"},
                %b: tensor<8x8xf32> {jax.arg_info = "x", mhlo.sharding = "{devices=[2,4]0,2,4,6,1,3,5,7}"},
                %c: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}"},
                %d: tensor<8x8xf32> {mhlo.sharding = "{replicated}"},
                %e: tensor<8x8xf32> {mhlo.sharding = "{unknown}"})
    -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1,2]<=[2,2,2]T(0,2,1) last_tile_dims={replicated}}"}) {
  // CHECK: stablehlo.add {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_0", "axis_1"}, {}], unreduced={"axis_2"}>]>}
  %0 = stablehlo.add %a, %b {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dims={unreduced}}"} : tensor<8x8xf32>
  %1 = stablehlo.add %0, %c : tensor<8x8xf32>
  %2 = stablehlo.add %1, %d : tensor<8x8xf32>
  %3 = stablehlo.add %2, %e : tensor<8x8xf32>
  // CHECK-NOT: mhlo.sharding
  return %3 : tensor<8x8xf32>
}
