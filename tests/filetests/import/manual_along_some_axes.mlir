// Manual subgroups become manual axes; propagation may use the others. Manual computations may be nested, here
// through a function.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK: sdy.mesh @mesh = <["axis_0"=4, "axis_1"=2]>
// CHECK-LABEL: func.func @main
// CHECK: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"axis_0", ?}, {?}]>] out_shardings=[<@mesh, [{"axis_0"}, {"axis_1"}]>] manual_axes={"axis_0"} (%arg1: tensor<2x16xf32>) {
// CHECK-NEXT: %1 = stablehlo.sine %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"axis_1"}]>]>}
// CHECK-NEXT: %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{}, {"axis_1"}]>] out_shardings=[<@mesh, [{}, {"axis_1"}]>] manual_axes={"axis_1"} (%arg2: tensor<2x8xf32>)
// CHECK: sdy.return %2
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x16xf32>) -> tensor<2x16xf32>
  %2 = call @outer(%1) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<2x16xf32>) -> tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

func.func private @outer(%a: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %0 = stablehlo.sine %a {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"} : tensor<2x16xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<2x16xf32>) -> tensor<2x8xf32>
  %2 = stablehlo.negate %1 : tensor<2x8xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"} : (tensor<2x8xf32>) -> tensor<2x16xf32>
  return %3 : tensor<2x16xf32>
}
