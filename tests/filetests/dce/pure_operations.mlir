// Unused pure operations are removed, including those with pure regions.
// RUN: shardc opt %s --passes dce | FileCheck %s

// CHECK: func.func @main(
// CHECK-NEXT: return %arg0
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %i: tensor<2xi32>, %s: tensor<2xi64>, %f: tensor<8xf32>, %q: tensor<4x!quant.uniform<i8:f32, 1.0:0>>, %p: tensor<i1>, %d: tensor<4x?xf32>, %n: tensor<i32>, %g: tensor<3xi32>, %w: tensor<3x8x5xf32>) -> tensor<4x8xf32> {
  %0:2 = chlo.top_k(%a, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %1 = "chlo.ragged_dot"(%a, %w, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  %2 = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>):
    %y = stablehlo.sine %x : tensor<f32>
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = chlo.broadcast_add %a, %f : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 1.0:0>>) -> tensor<4xf32>
  %5 = stablehlo.uniform_quantize %4 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.0:0>>
  %6 = "chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = stablehlo.get_dimension_size %d, dim = 1 : (tensor<4x?xf32>) -> tensor<i32>
  %8 = stablehlo.broadcast %f, sizes = [2] : (tensor<8xf32>) -> tensor<2x8xf32>
  %9 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %10 = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<4x8xf32>) -> tensor<4xf32>
  %11 = "stablehlo.torch_index_select"(%a, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %12 = "stablehlo.batch_norm_inference"(%a, %f, %f, %f, %f) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %13 = stablehlo.dynamic_reshape %a, %s : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %14 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
  %15 = stablehlo.set_dimension_size %d, %n, dim = 1 : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  %16 = "stablehlo.if"(%p) ({
    %y = stablehlo.sine %a : tensor<4x8xf32>
    stablehlo.return %y : tensor<4x8xf32>
  }, {
    stablehlo.return %a : tensor<4x8xf32>
  }) : (tensor<i1>) -> tensor<4x8xf32>
  %17 = stablehlo.create_token : !stablehlo.token
  %18 = stablehlo.after_all %17, %17 : !stablehlo.token
  return %a : tensor<4x8xf32>
}
