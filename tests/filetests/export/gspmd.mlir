// Axis-based shardings are exported as tiles, constraints as @Sharding, and manual computations as the calls at their
// boundaries. Importing the output restores the annotations on the inferred mesh.
// RUN: shardc opt %s --passes export-gspmd -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: shardc opt %t.mlir --passes import-gspmd,export-gspmd | diff %t.mlir -
// RUN: shardc opt %t.mlir --passes import-gspmd | FileCheck %s --check-prefix=BACK

// CHECK: module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
// CHECK-NOT: sdy.
// BACK: sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2, "axis_2"=2]>
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}
// CHECK-SAME: %arg1: tensor<8x8xf32> {mhlo.sharding = "{devices=[1,2,2,2]<=[4,2]T(1,0) last_tile_dims={unreduced, replicated}}"}
// CHECK-SAME: -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, tensor<8x8xf32> {mhlo.sharding = "{unknown}"})
// BACK: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1", "axis_2"}, {"axis_0"}]>}
// BACK-SAME: %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"axis_2"}], unreduced={"axis_0"}>}
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y":(2)2}], unreduced={"x"}>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) {
  // CHECK-NEXT: %0 = stablehlo.custom_call @Sharding(%arg1) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}"}
  %0 = sdy.sharding_constraint %b <@mesh, [{?}, {"y":(1)2}]> : tensor<8x8xf32>
  // CHECK-NEXT: %1 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "", mhlo.sharding = "{devices=[2,4]<=[8]}"}
  // CHECK-NEXT: %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {backend_config = "", mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %3 = stablehlo.sine %2 {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"}
  // CHECK-NEXT: %4 = stablehlo.custom_call @Sharding(%3) {backend_config = "", mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"}
  // CHECK-NEXT: %5 = stablehlo.custom_call @SPMDShardToFullShape(%4) {backend_config = "", mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  // BACK: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"axis_0"}, {"axis_1", "axis_2"}]>] out_shardings=[<@mesh, [{"axis_0"}, {}]>] manual_axes={"axis_0"}
  // BACK-NEXT: stablehlo.sine {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"axis_1", "axis_2"}]>]>}
  %1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%c: tensor<4x8xf32>) {
    %3 = stablehlo.sine %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<4x8xf32>
    sdy.return %3 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: stablehlo.custom_call @Sharding(%5) {backend_config = "", has_side_effect = true, mhlo.sharding = "{unknown shard_as 3}"}
  sdy.sharding_group %1 group_id=3 : tensor<8x8xf32>
  // CHECK-NEXT: return %5, %0
  return %1, %0 : tensor<8x8xf32>, tensor<8x8xf32>
}
