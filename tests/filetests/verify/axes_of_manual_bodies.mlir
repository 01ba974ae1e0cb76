// In a manual computation, an edge is not sharded along its manual axes, and quantized values have local sizes.
// RUN: not shardc verify %s 2>&1 | FileCheck %s

// CHECK-DAG: error[SH0213]: sdy.data_flow_edge uses the axis x, which is manual in an enclosing sdy.manual_computation
// CHECK-DAG: error[SH0213]: sdy.manual_computation: operand 0: the value in the body has type tensor<4xi8>, expected tensor<2xi8>, the local type of tensor<8xi8>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x8xf32>, %q: tensor<8x!quant.uniform<i8:f32, 5.0e-1>>) -> (tensor<8x8xf32>, tensor<8x!quant.uniform<i8:f32, 5.0e-1>>) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x8xf32>) {
    %e = sdy.data_flow_edge %b sharding=<@mesh, [{?}, {"x", ?}]> : tensor<2x8xf32>
    sdy.return %e : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.manual_computation(%q) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4x!quant.uniform<i8:f32, 5.0e-1>>) {
    sdy.return %b : tensor<4x!quant.uniform<i8:f32, 5.0e-1>>
  } : (tensor<8x!quant.uniform<i8:f32, 5.0e-1>>) -> tensor<8x!quant.uniform<i8:f32, 5.0e-1>>
  return %0, %1 : tensor<8x8xf32>, tensor<8x!quant.uniform<i8:f32, 5.0e-1>>
}
