// A slice of one element does not fit an empty dimension: the operation is not changed.
// RUN: shardc opt --passes decompose %s -o - | FileCheck %s

// CHECK: "stablehlo.torch_index_select"
// CHECK-NOT: stablehlo.gather
func.func @main(%a: tensor<0xi1>, %i: tensor<i32>) -> tensor<i1> {
  %0 = "stablehlo.torch_index_select"(%a, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<0xi1>, tensor<i32>) -> tensor<i1>
  return %0 : tensor<i1>
}
