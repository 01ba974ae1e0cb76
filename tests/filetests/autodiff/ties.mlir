// Ties and kinks follow JAX: the derivative is one half where two operands are equal, 0 for relu and relu6, 1 for |x| at 0.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// relu: `maximum(x, 0)` with the constant second.
// CHECK-LABEL: func.func @main
// CHECK: %[[X0:.*]] = stablehlo.slice %arg0 [0:1]
// CHECK: %[[IS:.*]] = stablehlo.compare GT, %[[X0]]
// CHECK-NOT: stablehlo.compare EQ, %[[X0]]
// `maximum(0, x)`, as `jnp.clip` writes it, shares the tangent.
// CHECK: %[[X1:.*]] = stablehlo.slice %arg0 [1:2]
// CHECK: stablehlo.compare GT, %[[X1]]
// CHECK: stablehlo.compare EQ, %[[X1]]
// celu: the maximum and the minimum of one pair also share it.
// CHECK: %[[X2:.*]] = stablehlo.slice %arg0 [2:3]
// CHECK: stablehlo.compare GT, %[[X2]]
// CHECK: stablehlo.compare EQ, %[[X2]]
// CHECK: stablehlo.compare LT, %[[X2]]
// CHECK: stablehlo.compare EQ, %[[X2]]
// CHECK: %[[X3:.*]] = stablehlo.slice %arg0 [3:4]
// CHECK: stablehlo.compare GE, %[[X3]]
// CHECK-NOT: stablehlo.sign
// CHECK: return
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<1xf32>
  %x0 = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %relu = stablehlo.maximum %x0, %zero : tensor<1xf32>
  %x1 = stablehlo.slice %x [1:2] : (tensor<4xf32>) -> tensor<1xf32>
  %clip = stablehlo.maximum %zero, %x1 : tensor<1xf32>
  %x2 = stablehlo.slice %x [2:3] : (tensor<4xf32>) -> tensor<1xf32>
  %larger = stablehlo.maximum %x2, %zero : tensor<1xf32>
  %smaller = stablehlo.minimum %x2, %zero : tensor<1xf32>
  %both = stablehlo.add %larger, %smaller : tensor<1xf32>
  %x3 = stablehlo.slice %x [3:4] : (tensor<4xf32>) -> tensor<1xf32>
  %size = stablehlo.abs %x3 : tensor<1xf32>
  %a = stablehlo.add %relu, %clip : tensor<1xf32>
  %b = stablehlo.add %both, %size : tensor<1xf32>
  %c = stablehlo.add %a, %b : tensor<1xf32>
  %sum = stablehlo.reduce(%c init: %init) applies stablehlo.add across dimensions = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
