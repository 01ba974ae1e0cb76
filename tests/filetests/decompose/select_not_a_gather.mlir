// Operations that a gather cannot express are not changed: invalid dimensions, non-integer indices.
// RUN: shardc opt --passes decompose %s -o - | FileCheck %s --implicit-check-not=stablehlo.gather

func.func @main(%a: tensor<24xf32>, %i: tensor<i32>, %j: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: "stablehlo.torch_index_select"(%arg0, %arg1)
  %0 = "stablehlo.torch_index_select"(%a, %i) <{batch_dims = 7 : i64, dim = 7 : i64}> : (tensor<24xf32>, tensor<i32>) -> tensor<f32>
  // CHECK: "stablehlo.torch_index_select"(%arg0, %arg2)
  %1 = "stablehlo.torch_index_select"(%a, %j) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<24xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
