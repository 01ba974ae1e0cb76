// XLA's CPU client has one memory: calls that move a value to host memory are replaced by their operands. Other clients get the call.
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' | FileCheck %s --check-prefix=CPU
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

// CPU-LABEL: func.func @main
// CPU-NEXT: stablehlo.sine %arg0
// CPU-NEXT: return
// ANY-LABEL: func.func @main
// ANY-NEXT: stablehlo.custom_call @annotate_device_placement(%arg0)
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %there = stablehlo.custom_call @annotate_device_placement(%x) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<8xf32>) -> tensor<8xf32>
  %sine = stablehlo.sine %there : tensor<8xf32>
  return %sine : tensor<8xf32>
}
