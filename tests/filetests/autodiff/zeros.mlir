// No computation on zeros: the gradient of an argument that the result does not depend on is a constant, integers
// have no gradient, and unused results of an operation contribute nothing.
// RUN: shardc grad %s --wrt x,unused -o - | FileCheck %s

// CHECK-NOT: tensor<8x8xf32>{{$}}
// CHECK: %[[BACK:.*]] = stablehlo.convert %{{.*}} : (tensor<4xi32>) -> tensor<4xf32>
// CHECK: %[[GRADIENT:.*]] = stablehlo.multiply %{{.*}}, %[[BACK]]
// CHECK-NEXT: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT: return %[[GRADIENT]], %[[ZEROS]]
func.func @main(%x: tensor<4xf32>, %unused: tensor<8x8xf32>, %i: tensor<4xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %square = stablehlo.multiply %unused, %unused : tensor<8x8xf32>
  %whole = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %count = stablehlo.add %whole, %i : tensor<4xi32>
  %back = stablehlo.convert %count : (tensor<4xi32>) -> tensor<4xf32>
  %p = stablehlo.multiply %x, %back : tensor<4xf32>
  %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
