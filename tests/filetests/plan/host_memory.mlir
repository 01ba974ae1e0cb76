// A memory placement does not change the value: the call is sharded like its operand, propagates shardings both ways,
// and is kept even if unused.
// RUN: shardc partition %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: FileCheck %s < %t.mlir

sdy.mesh @mesh = <["x"=2, "y"=4]>

// QUIET-NOT: warning
// CHECK: @main(%arg0: tensor<4x2xf32> {mhlo.memory_kind = "pinned_host"}, %arg1: tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: custom_call @annotate_device_placement(%arg0) {{{.*}}has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: custom_call @annotate_device_placement({{.*}}) {{{.*}}has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NOT: collective
// CHECK-NOT: all_gather
func.func public @main(
    %a: tensor<8x8xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @annotate_device_placement(%a) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %b : tensor<8x8xf32>
  %2 = stablehlo.custom_call @annotate_device_placement(%1) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
