// RUN: shardc opt %s --passes decompose | FileCheck %s

// Sums per feature, in at least 32 bits; the rest is elementwise.

// CHECK-LABEL: func.func @training
func.func @training(%x: tensor<8x3x5xbf16>, %s: tensor<3xbf16>, %o: tensor<3xbf16>) -> (tensor<8x3x5xbf16>, tensor<3xbf16>, tensor<3xbf16>) {
  // CHECK: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<8x3x5xbf16>) -> tensor<8x3x5xf32>
  // CHECK: %[[SQUARE:.*]] = stablehlo.multiply %[[X]], %[[X]] : tensor<8x3x5xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 2]
  // CHECK: %[[SQUARES:.*]] = stablehlo.reduce(%[[SQUARE]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 2]
  // CHECK: %[[N:.*]] = stablehlo.constant dense<4.000000e+01> : tensor<3xf32>
  // CHECK: %[[MEAN:.*]] = stablehlo.divide %[[SUM]], %[[N]]
  // CHECK: %[[DIFFERENCE:.*]] = stablehlo.subtract
  // CHECK: %[[VARIANCE:.*]] = stablehlo.maximum %[[DIFFERENCE]]
  // CHECK: stablehlo.rsqrt
  // CHECK: %[[Y:.*]] = stablehlo.add %{{.*}} : tensor<8x3x5xf32>
  // CHECK-DAG: stablehlo.convert %[[Y]] : (tensor<8x3x5xf32>) -> tensor<8x3x5xbf16>
  // CHECK-DAG: stablehlo.convert %[[MEAN]] : (tensor<3xf32>) -> tensor<3xbf16>
  // CHECK-DAG: stablehlo.convert %[[VARIANCE]] : (tensor<3xf32>) -> tensor<3xbf16>
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<8x3x5xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> (tensor<8x3x5xbf16>, tensor<3xbf16>, tensor<3xbf16>)
  return %0#0, %0#1, %0#2 : tensor<8x3x5xbf16>, tensor<3xbf16>, tensor<3xbf16>
}

// CHECK-LABEL: func.func @grad
func.func @grad(%x: tensor<8x3xf64>, %s: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64>, %d: tensor<8x3xf64>) -> (tensor<8x3xf64>, tensor<3xf64>, tensor<3xf64>) {
  // CHECK-NOT: f32
  // CHECK: %[[MEAN:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [1]
  // CHECK: %[[CENTERED:.*]] = stablehlo.subtract %arg0, %[[MEAN]]
  // CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %arg4, %[[CENTERED]]
  // CHECK: %[[OFFSET:.*]] = stablehlo.reduce(%arg4 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
  // CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
  // CHECK-NOT: stablehlo.reduce
  // CHECK: return %{{.*}}, %{{.*}}, %[[OFFSET]]
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %d) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<8x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<8x3xf64>) -> (tensor<8x3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %0#0, %0#1, %0#2 : tensor<8x3xf64>, tensor<3xf64>, tensor<3xf64>
}

// Elementwise operations are kept, and so are those with dynamic sizes.
// CHECK-LABEL: func.func @stays
// CHECK: "stablehlo.batch_norm_inference"
// CHECK: "stablehlo.batch_norm_training"
func.func @stays(%x: tensor<8x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %u: tensor<?x3xf32>) -> (tensor<8x3xf32>, tensor<?x3xf32>) {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %s, %o) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %1:3 = "stablehlo.batch_norm_training"(%u, %s, %o) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0, %1#0 : tensor<8x3xf32>, tensor<?x3xf32>
}
