// @Sharding is a constraint: closed, except for its unspecified dimensions. One without information is removed.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK: sdy.mesh @mesh = <["axis_0"=4, "axis_1"=2]>
// CHECK: func.func @main
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32> {mhlo.sharding = "{unknown shard_as 4}"}) -> tensor<8x8xf32> {
  // CHECK-NEXT: sdy.sharding_group %arg1 group_id=4
  // CHECK-NEXT: %0 = sdy.sharding_constraint %arg0 <@mesh, [{"axis_0"}, {"axis_1"}]>
  %0 = stablehlo.custom_call @Sharding(%a) {backend_config = "", mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"axis_0"}]>
  %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,4,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: sdy.sharding_constraint %1 <@mesh, [{}, {}]>
  %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{replicated}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{replicated}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: sdy.sharding_group %2 group_id=4
  %4 = stablehlo.custom_call @Sharding(%3) {has_side_effect = true, mhlo.sharding = "{unknown shard_like 4}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: stablehlo.add %2, %arg1
  %5 = stablehlo.add %4, %b : tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}
