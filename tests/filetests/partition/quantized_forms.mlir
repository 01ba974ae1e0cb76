// Quantized operations stay valid after partitioning: the older form of dot, which has weaker requirements, is kept,
// and an iota of quantized elements is offset in quantized arithmetic.
// RUN: shardc partition %s -o %t.mlir
// RUN: shardc opt %t.mlir --passes verify-collectives -o %t.out.mlir
// RUN: FileCheck %s --input-file %t.mlir

// CHECK: stablehlo.dot %{{.*}}!quant.uniform<i8:f32, 5.000000e+00:20>
// CHECK: %[[ALL:.*]] = stablehlo.iota dim = 0 : tensor<4x4x!quant.uniform<i8:f32, 5.000000e-01>>
// CHECK: stablehlo.dynamic_slice %[[ALL]], {{.*}} sizes = [2, 4]
// CHECK: stablehlo.compare EQ, {{.*}} : (tensor<2x4x!quant.uniform<i8:f32, 5.000000e-01>>, tensor<2x4x!quant.uniform<i8:f32, 5.000000e-01>>) -> tensor<2x4xi1>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2x2x!quant.uniform<i8:f32, 2.0:15>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<2x2x!quant.uniform<i8:f32, 5.0:20>>)
    -> (tensor<2x2x!quant.uniform<i8:f32, 10.0:50>>, tensor<4x4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.dot"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32, 2.0:15>>, tensor<2x2x!quant.uniform<i8:f32, 5.0:20>>) -> tensor<2x2x!quant.uniform<i8:f32, 10.0:50>>
  %1 = stablehlo.iota dim = 0 : tensor<4x4x!quant.uniform<i8:f32, 5.0e-1>>
  %2 = stablehlo.iota dim = 1 : tensor<4x4x!quant.uniform<i8:f32, 5.0e-1>>
  %3 = stablehlo.compare EQ, %1, %2, SIGNED : (tensor<4x4x!quant.uniform<i8:f32, 5.0e-1>>, tensor<4x4x!quant.uniform<i8:f32, 5.0e-1>>) -> tensor<4x4xi1>
  return %0, %3 : tensor<2x2x!quant.uniform<i8:f32, 10.0:50>>, tensor<4x4xi1>
}
