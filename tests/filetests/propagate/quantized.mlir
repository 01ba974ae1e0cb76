// RUN: shardc propagate %s | FileCheck %s

// Quantized tensors are sharded like others.

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg1: tensor<16x4x!quant.uniform<i8:f32, 2.000000e-01>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}
// CHECK-SAME: -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<16x4x!quant.uniform<i8:f32, 0.2>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<8x4xf32> {
  // CHECK: stablehlo.uniform_quantize %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
  %0 = stablehlo.uniform_quantize %a : (tensor<8x16xf32>) -> tensor<8x16x!quant.uniform<i8:f32, 0.1:3>>
  // CHECK: stablehlo.dot_general {{.*}}sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<8x16x!quant.uniform<i8:f32, 0.1:3>>, tensor<16x4x!quant.uniform<i8:f32, 0.2>>) -> tensor<8x4x!quant.uniform<i8:f32, 0.3>>
  // CHECK: stablehlo.uniform_dequantize {{.*}}sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<8x4x!quant.uniform<i8:f32, 0.3>>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
