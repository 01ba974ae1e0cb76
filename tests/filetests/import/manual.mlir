// Operations that depend on a result of @SPMDFullToShardShape form the body of a manual computation, up to
// @SPMDShardToFullShape. Replicated values that they use become operands; operations without operands are moved inside.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK: sdy.mesh @mesh = <["axis_0"=4, "axis_1"=2]>
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %cst = stablehlo.constant dense<2.0
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %cst
// CHECK-NEXT: %1 = stablehlo.multiply %arg0, %0
// CHECK-NEXT: %2 = sdy.manual_computation(%1, %arg1) in_shardings=[<@mesh, [{"axis_0"}, {"axis_1"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"axis_0"}, {}]>] manual_axes={"axis_0", "axis_1"} (%arg2: tensor<2x4xf32>, %arg3: tensor<f32>) {
// CHECK-NEXT:   %cst_0 = stablehlo.constant dense<2.0
// CHECK-NEXT:   %[[B:.*]] = stablehlo.broadcast_in_dim %arg3
// CHECK-NEXT:   %[[ID:.*]] = stablehlo.partition_id
// CHECK-NEXT:   %[[F:.*]] = stablehlo.convert %[[ID]]
// CHECK-NEXT:   %[[M:.*]] = stablehlo.multiply %arg2, %[[B]]
// CHECK-NEXT:   %[[S:.*]] = stablehlo.reduce(%[[M]] init: %cst_0)
// CHECK-NEXT:   %[[G:.*]] = stablehlo.broadcast_in_dim %[[F]], dims = [] : (tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT:   %[[A:.*]] = stablehlo.add %[[S]], %[[G]]
// CHECK-NEXT:   stablehlo.broadcast_in_dim %[[A]]
// CHECK-NEXT:   sdy.return
// CHECK-NEXT: } : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT: %3 = stablehlo.add %2, %1
// CHECK-NEXT: return %3
func.func @main(%a: tensor<8x8xf32>, %s: tensor<f32>) -> tensor<8x8xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<8x8xf32>
  %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<2x4xf32>
  %id = stablehlo.partition_id {mhlo.sharding = "{manual}"} : tensor<ui32>
  %f = stablehlo.convert %id {mhlo.sharding = "{manual}"} : (tensor<ui32>) -> tensor<f32>
  %4 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<2x4xf32>
  %6 = stablehlo.reduce(%5 init: %two) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  %7 = call @body(%6, %f) : (tensor<2xf32>, tensor<f32>) -> tensor<2x8xf32>
  %8 = stablehlo.custom_call @Sharding(%7) {mhlo.sharding = "{manual}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<2x8xf32>) -> tensor<8x8xf32>
  %10 = stablehlo.add %9, %1 : tensor<8x8xf32>
  return %10 : tensor<8x8xf32>
}

// CHECK-NOT: @body
func.func private @body(%a: tensor<2xf32> {mhlo.sharding = "{manual}"}, %b: tensor<f32> {mhlo.sharding = "{manual}"}) -> (tensor<2x8xf32> {mhlo.sharding = "{manual}"}) {
  %0 = stablehlo.broadcast_in_dim %b, dims = [] {mhlo.sharding = "{manual}"} : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.add %a, %0 : tensor<2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}
