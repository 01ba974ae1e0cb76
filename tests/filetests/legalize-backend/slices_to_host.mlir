// A slice of combined all-gathers is offloaded to host memory behind a barrier: XLA's TPU compiler would otherwise
// move all of the combined value there.
// RUN: shardc opt %s --passes 'legalize-backend{target=tpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY --implicit-check-not=optimization_barrier

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
// ANY-LABEL: func.func @main
func.func @main(%all: tensor<2x24xf32>, %own: tensor<16x8xf32>) -> (tensor<32xf32> {mhlo.memory_kind = "pinned_host"}, tensor<8x2xf32>, tensor<16x8xf32> {mhlo.memory_kind = "pinned_host"}) {
  // CHECK: %[[FORM:.*]] = stablehlo.reshape
  // CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[FORM]]
  // CHECK-NEXT: stablehlo.custom_call @annotate_device_placement(%[[HELD]])
  %part = stablehlo.slice %all [0:2, 0:16] : (tensor<2x24xf32>) -> tensor<2x16xf32>
  %first = stablehlo.reshape %part : (tensor<2x16xf32>) -> tensor<32xf32>
  %there = stablehlo.custom_call @annotate_device_placement(%first) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<32xf32>) -> tensor<32xf32>
  // Copies to the device, and values that are not slices, are unchanged.
  // CHECK-NOT: optimization_barrier
  %rest = stablehlo.slice %all [0:2, 16:24] : (tensor<2x24xf32>) -> tensor<2x8xf32>
  %second = stablehlo.reshape %rest : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %here = stablehlo.custom_call @annotate_device_placement(%second) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %new = stablehlo.negate %own : tensor<16x8xf32>
  %whole = stablehlo.custom_call @annotate_device_placement(%new) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %there, %here, %whole : tensor<32xf32>, tensor<8x2xf32>, tensor<16x8xf32>
}
