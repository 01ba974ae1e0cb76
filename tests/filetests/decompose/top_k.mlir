// Custom calls that select the largest elements become `chlo.top_k`; those that select the smallest are not changed.
// RUN: shardc opt %s --passes decompose | FileCheck %s

// CHECK-LABEL: func.func public @mhlo
// CHECK-NEXT: chlo.top_k(%arg0, k = 4) : tensor<8x64xf32> -> (tensor<8x4xf32>, tensor<8x4xi32>)
func.func public @mhlo(%a: tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 4 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xi32>
}

// CHECK-LABEL: func.func public @xla
// CHECK-NEXT: chlo.top_k(%arg0, k = 4)
func.func public @xla(%a: tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
  %0:2 = stablehlo.custom_call @TopK(%a) {called_computations = [@greater]} : (tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xi32>
}

// CHECK-LABEL: func.func public @smallest
// CHECK-NEXT: stablehlo.custom_call @mhlo.topk
// CHECK-NEXT: stablehlo.custom_call @TopK
func.func public @smallest(%a: tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 4 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
  %1:2 = stablehlo.custom_call @TopK(%a) {called_computations = [@less]} : (tensor<8x64xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
  return %0#0, %1#0 : tensor<8x4xf32>, tensor<8x4xf32>
}

func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}

func.func private @less(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
