// JAX 0.12 writes asynchronous collectives as two custom calls with JSON attributes.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=custom_call
sdy.mesh @mesh = <["x"=4]>
func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %0 : tensor<f32>
}
// CHECK-LABEL: func.func public @main
func.func public @main(%arg0: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<32x8xf32>, tensor<16x8xf32>) {
  %0:3 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>, <@mesh, [{}, {}]>] manual_axes={"x"} (%x: tensor<16x8xf32>) {
    // CHECK: "stablehlo.reduce_scatter"(%arg0) {{.*}}scatter_dimension = 0
    // CHECK: stablehlo.add
    %1 = stablehlo.custom_call @"reduce-scatter-start"(%x) {backend_config = "", called_computations = [@add], mhlo.frontend_attributes = {async_collective_config = "{\22scatter_dimension\22: 0, \22replica_groups\22: [[0, 1, 2, 3]], \22tiled\22: true, \22use_global_device_ids\22: true, \22channel_id\22: 1}"}} : (tensor<16x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.custom_call @"reduce-scatter-done"(%1) {backend_config = ""} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.concatenate %2, %2, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK: "stablehlo.all_gather"{{.*}}all_gather_dim = 0
    %5 = stablehlo.custom_call @"all-gather-start"(%4) {backend_config = "", mhlo.frontend_attributes = {async_collective_config = "{\22all_gather_dimension\22: 0, \22replica_groups\22: [[0, 1, 2, 3]], \22use_global_device_ids\22: true, \22channel_id\22: 1}"}} : (tensor<8x8xf32>) -> tensor<32x8xf32>
    %6 = stablehlo.custom_call @"all-gather-done"(%5) {backend_config = ""} : (tensor<32x8xf32>) -> tensor<32x8xf32>
    // CHECK: "stablehlo.all_reduce"
    %7 = stablehlo.custom_call @"all-reduce-start"(%x) {backend_config = "", called_computations = [@add], mhlo.frontend_attributes = {async_collective_config = "{\22replica_groups\22: [[0, 1, 2, 3]], \22use_global_device_ids\22: true, \22channel_id\22: 1}"}} : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %8 = stablehlo.custom_call @"all-reduce-done"(%7) {backend_config = ""} : (tensor<16x8xf32>) -> tensor<16x8xf32>
    sdy.return %2, %6, %8 : tensor<4x8xf32>, tensor<32x8xf32>, tensor<16x8xf32>
  } : (tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<32x8xf32>, tensor<16x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<16x8xf32>, tensor<32x8xf32>, tensor<16x8xf32>
}
