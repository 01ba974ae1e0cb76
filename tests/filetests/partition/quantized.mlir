// RUN: shardc partition %s -o - 2>&1 | FileCheck %s

// Each device works on its shard of quantized elements, which are sent as stored integers. A partial sum has no
// quantized zero to start from, so the reduced dimension is all-gathered, which is reported.

sdy.mesh @mesh = <["x"=2]>

// CHECK: warning[SH0310]: stablehlo.dot_general needs dimension 1 of operand 0 replicated, so the operand is all-gathered: tensor<6x8x!quant.uniform<i8:f32, 1.000000e-01:3>>
// CHECK: func.func @main(%arg0: tensor<6x4xf32>, %arg1: tensor<8x2x!quant.uniform<i8:f32, 2.000000e-01>>) -> tensor<6x2xf32>
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<8x3x!quant.uniform<i8:f32, 0.2>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: %[[Q:.*]] = stablehlo.uniform_quantize %arg0 : (tensor<6x4xf32>) -> tensor<6x4x!quant.uniform<i8:f32, 1.000000e-01:3>>
  // CHECK: %[[I:.*]] = stablehlo.bitcast_convert %[[Q]] : (tensor<6x4x!quant.uniform<i8:f32, 1.000000e-01:3>>) -> tensor<6x4xi8>
  // CHECK: %[[G:.*]] = "stablehlo.all_gather"(%[[I]])
  // CHECK: %[[W:.*]] = stablehlo.bitcast_convert %[[G]] : (tensor<6x8xi8>) -> tensor<6x8x!quant.uniform<i8:f32, 1.000000e-01:3>>
  %0 = stablehlo.uniform_quantize %a : (tensor<6x8xf32>) -> tensor<6x8x!quant.uniform<i8:f32, 0.1:3>>
  // CHECK: stablehlo.dot_general %[[W]], %arg1, contracting_dims = [1] x [0] : {{.*}} -> tensor<6x2x!quant.uniform<i8:f32, 3.000000e-01>>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<6x8x!quant.uniform<i8:f32, 0.1:3>>, tensor<8x3x!quant.uniform<i8:f32, 0.2>>) -> tensor<6x3x!quant.uniform<i8:f32, 0.3>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<6x3x!quant.uniform<i8:f32, 0.3>>) -> tensor<6x3xf32>
  return %2 : tensor<6x3xf32>
}
