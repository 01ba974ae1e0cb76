// Shardy annotations in the form in which they pass through XLA: frontend attributes and custom calls.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK: module @m attributes {mhlo.frontend_attributes = {other = "kept"}} {
// CHECK: sdy.mesh @mesh = <["a"=2, "b"=4]>
// CHECK: sdy.mesh @turned = <["a"=2], device_ids=[1, 0]>
module @m attributes {mhlo.frontend_attributes = {other = "kept", xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2, \22b\22=4]>, turned = #sdy.mesh<[\\\22a\\\22=2], device_ids=[1, 0]>}"}} {
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {"b":(2)2}], replicated={"b":(1)2}>}
  // CHECK-SAME: %arg1: tensor<8x8xf32>)
  // CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
  func.func @main(%a: tensor<8x8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22a\22, ?}p1, {\22b\22:(2)2}], replicated={\22b\22:(1)2}>"}, mhlo.sharding = "{replicated}"},
                  %b: tensor<8x8xf32> {mhlo.sharding = "{devices=[7]<=[7]}"}) -> (tensor<8x8xf32>, tensor<8x8xf32> {mhlo.sharding = "{replicated}"}) {
    // CHECK-NEXT: %0 = sdy.sharding_constraint %arg1 <@mesh, [{"a"}, {}]>
    %0 = stablehlo.custom_call @Sharding(%b) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: sdy.sharding_group %0 group_id=21
    stablehlo.custom_call @xla.sdy.ShardingGroup(%0) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "21 : i64"}} : (tensor<8x8xf32>) -> ()
    // CHECK-NEXT: sdy.propagation_barrier %0 allowed_direction=BACKWARD
    %1 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%0) {mhlo.frontend_attributes = {xla.sdy.allowed_direction = "2 : i32"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: sdy.manual_computation(%1, %arg0) in_shardings=[<@mesh, [{"a"}, {}]>, <@mesh, [{}, {"a"}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>) {
    // CHECK-NEXT: sdy.return %arg2
    %2:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%1, %a) {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}, {}]>, <@mesh, [{}, {\22a\22}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>"}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>)
    %3 = call @xla.sdy.manual_computation_body(%2#0, %2#1) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%3) {mhlo.frontend_attributes = {xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}, {}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>"}} : (tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK: %3 = stablehlo.custom_call @foo(%2) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>}
    %5 = stablehlo.custom_call @foo(%4) {mhlo.frontend_attributes = {xla.sdy.sharding_rule = "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %6 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%5) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}, {?}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: %4 = sdy.sharding_constraint %3 <@mesh, [{"b", ?}, {?}]>
    %7 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%5) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22b\22}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: stablehlo.negate %4
    %8 = stablehlo.negate %7 : tensor<8x8xf32>
    // CHECK-NEXT: return %3, %4
    return %6, %7 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @xla.sdy.manual_computation_body(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x8xf32> {
    return %a : tensor<4x8xf32>
  }
}
