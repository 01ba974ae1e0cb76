// Quantized elements become their stored integers. Operations that move elements move these; arithmetic is done on
// real numbers, then rounded and clamped.
// RUN: shardc opt %s --passes unquantize | FileCheck %s --implicit-check-not=quant

!q = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.5>
!rows = !quant.uniform<i8<-127:127>:f32:0, {0.5, 0.25}>
!columns = !quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>
!blocks = !quant.uniform<i8:f32:{0:2, 1:3}, {{1.0, 2.0}, {3.0, 4.0}}>

// CHECK-LABEL: func.func @both(%arg0: tensor<4xf32>) -> tensor<4xf32>
func.func @both(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[S:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
  // CHECK: %[[D:.*]] = stablehlo.divide %arg0, %[[S]]
  // CHECK: %[[Z:.*]] = stablehlo.constant dense<3.000000e+00>
  // CHECK: %[[A:.*]] = stablehlo.add %[[D]], %[[Z]]
  // CHECK-DAG: %[[MIN:.*]] = stablehlo.constant dense<-1.280000e+02>
  // CHECK-DAG: %[[MAX:.*]] = stablehlo.constant dense<1.270000e+02>
  // CHECK: %[[L:.*]] = stablehlo.maximum %[[A]], %[[MIN]]
  // CHECK: %[[K:.*]] = stablehlo.minimum %[[L]], %[[MAX]]
  // CHECK: %[[R:.*]] = stablehlo.round_nearest_even %[[K]]
  // CHECK: %[[Q:.*]] = stablehlo.convert %[[R]] : (tensor<4xf32>) -> tensor<4xi8>
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!q>
  // CHECK: %[[I:.*]] = stablehlo.convert %[[Q]] : (tensor<4xi8>) -> tensor<4xi32>
  // CHECK: %[[O:.*]] = stablehlo.subtract %[[I]], %{{.*}} : tensor<4xi32>
  // CHECK: %[[F:.*]] = stablehlo.convert %[[O]] : (tensor<4xi32>) -> tensor<4xf32>
  // CHECK: stablehlo.multiply %[[F]], %{{.*}} : tensor<4xf32>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<4x!q>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @rows(%arg0: tensor<2x3xi8>) -> tensor<3x2xf32>
func.func @rows(%x: tensor<2x3x!rows>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3x!rows>) -> tensor<3x2x!columns>
  // CHECK: %[[I:.*]] = stablehlo.convert %[[T]] : (tensor<3x2xi8>) -> tensor<3x2xi32>
  // CHECK: %[[C:.*]] = stablehlo.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
  // CHECK: stablehlo.broadcast_in_dim %[[C]], dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<3x2x!columns>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @blocks(%arg0: tensor<4x6xi8>)
func.func @blocks(%x: tensor<4x6x!blocks>) -> tensor<4x6xf32> {
  // CHECK: %[[B:.*]] = stablehlo.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>
  // CHECK: %[[S:.*]] = stablehlo.broadcast_in_dim %[[B]], dims = [0, 2] : (tensor<2x2xf32>) -> tensor<2x2x2x3xf32>
  // CHECK: stablehlo.reshape %[[S]] : (tensor<2x2x2x3xf32>) -> tensor<4x6xf32>
  %0 = stablehlo.uniform_dequantize %x : (tensor<4x6x!blocks>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Only what is quantized is converted.
// CHECK-LABEL: func.func @hybrid(%arg0: tensor<2x4xf32>, %arg1: tensor<4x3xi8>) -> tensor<2x3xf32>
func.func @hybrid(%x: tensor<2x4xf32>, %w: tensor<4x3x!w>) -> tensor<2x3xf32> {
  // CHECK: %[[W:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<4x3xf32>
  // CHECK: %[[Y:.*]] = stablehlo.dot_general %arg0, %[[W]]
  // CHECK-NEXT: return %[[Y]]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3x!w>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// A reducer rounds at each step.
// CHECK-LABEL: func.func @reduced(%arg0: tensor<4xi8>, %arg1: tensor<i8>) -> tensor<i8>
func.func @reduced(%x: tensor<4x!q>, %init: tensor<!q>) -> tensor<!q> {
  // CHECK: stablehlo.reduce(%arg0 init: %arg1)
  // CHECK: stablehlo.round_nearest_even
  // CHECK: stablehlo.return %{{.*}} : tensor<i8>
  %0 = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<4x!q>, tensor<!q>) -> tensor<!q>
    reducer(%a: tensor<!q>, %b: tensor<!q>) {
      %s = stablehlo.add %a, %b : tensor<!q>
      stablehlo.return %s : tensor<!q>
    }
  return %0 : tensor<!q>
}
