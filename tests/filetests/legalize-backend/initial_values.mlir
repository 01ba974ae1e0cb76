// XLA adds an initial value once for each partial sum: the reduction starts with the identity, and its result is
// combined with the initial value.
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s
// RUN: shardc verify %s --mesh a=8 --spec arg0=a,- --spec arg2=a | FileCheck %s --check-prefix=EQUAL

// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%arg0 init: %[[ZERO]]) applies stablehlo.add across dimensions = [0]
// CHECK: %[[INIT:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK: %[[TOTAL:.*]] = stablehlo.add %[[SUM]], %[[INIT]] : tensor<4xf32>
// CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.multiply
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.maximum
// CHECK-NOT: stablehlo.maximum
// CHECK: return %[[TOTAL]], %[[PRODUCT]], %{{.*}}
// EQUAL: ok: 3 of 3 outputs equal
// EQUAL: assumed: 2 reduces have an initial value that is not known to be the identity: the original and the partitioned program apply it once
func.func @main(%x: tensor<128x4xf32>, %c: tensor<f32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>) {
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<128x4xf32>, tensor<f32>) -> tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %1 = stablehlo.reduce(%y init: %two) applies stablehlo.multiply across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<4xf32>, tensor<f32>, tensor<f32>
}
