// A function with dynamic dimensions is refined for each call with the shapes of that call; a static function is kept.
// RUN: shardc opt %s --passes=refine-shapes | FileCheck %s
// RUN: shardc verify %s --mesh d=4 --spec arg0=d,- --spec arg1=d,-
// RUN: shardc grad %s --wrt arg0 --of 2 | FileCheck %s --check-prefix=GRAD
// RUN: not shardc opt %s --dim b=8 2>&1 | FileCheck %s --check-prefix=STATIC

// STATIC: error[SH0350]: the program has no symbolic dimension 'b'
// STATIC: all arguments have static shapes

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>) -> (tensor<16x4xf32>, tensor<8x4xf32>, tensor<f32>)
// CHECK: %[[A:.*]] = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
// CHECK: %[[TANH:.*]] = call @static(%arg1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[B:.*]] = stablehlo.concatenate %[[TANH]], %[[TANH]], dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
// CHECK: return %[[A]], %[[B]], %{{.*}} : tensor<16x4xf32>, tensor<8x4xf32>, tensor<f32>
// CHECK: func.func private @static
// CHECK-NOT: func.func

// GRAD: func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>) -> (tensor<8x4xf32> {jax.result_info = "gradient(x)"})

func.func @main(%x: tensor<8x4xf32>, %y: tensor<4x4xf32>) -> (tensor<16x4xf32>, tensor<8x4xf32>, tensor<f32>) {
  %0 = stablehlo.convert %x : (tensor<8x4xf32>) -> tensor<?x4xf32>
  %1:2 = call @outer(%0) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<f32>)
  %2 = stablehlo.convert %1#0 : (tensor<?x4xf32>) -> tensor<16x4xf32>
  %3 = call @static(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = stablehlo.convert %3 : (tensor<4x4xf32>) -> tensor<?x4xf32>
  %5:2 = call @outer(%4) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<f32>)
  %6 = stablehlo.convert %5#0 : (tensor<?x4xf32>) -> tensor<8x4xf32>
  return %2, %6, %1#1 : tensor<16x4xf32>, tensor<8x4xf32>, tensor<f32>
}

func.func private @static(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.tanh %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func private @outer(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<f32>) {
  %0 = call @twice(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = call @mean(%0) : (tensor<?x4xf32>) -> tensor<f32>
  return %0, %1 : tensor<?x4xf32>, tensor<f32>
}

func.func private @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

func.func private @mean(%x: tensor<?x4xf32>) -> tensor<f32> {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<?x4xf32>
  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<f32>
  %4 = stablehlo.divide %1, %3 : tensor<f32>
  return %4 : tensor<f32>
}
