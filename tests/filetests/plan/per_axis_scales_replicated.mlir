// RUN: not shardc partition %s -o - 2>&1 | FileCheck %s

// Shards of a dimension with per-position scales would have different types, but all devices run one program.

sdy.mesh @mesh = <["x"=2]>

// CHECK: error[SH0319]: dimension 0 of tensor<2x8x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>> is sharded
// CHECK: shard another dimension
func.func @main(%a: tensor<2x8x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<2x8xf32> {
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x8x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
