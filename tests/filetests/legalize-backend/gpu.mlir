// For XLA's GPU compiler, a value that is returned several times aliases only one argument: version 0.11.2 of the
// CUDA plugin gives all of these results one buffer, so users of the others read the first.
// RUN: shardc opt %s --passes 'legalize-backend{target=gpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

// CHECK: @main(%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<4xf32>, %arg2: tensor<4xf32> {tf.aliasing_output = 3 : i32}, %arg3: tensor<4xf32>) ->
// ANY: %arg1: tensor<4xf32> {tf.aliasing_output = 2 : i32}
// ANY-SAME: %arg3: tensor<4xf32> {tf.aliasing_output = 4 : i32}
func.func @main(
    %a: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<4xf32> {tf.aliasing_output = 2 : i32},
    %c: tensor<4xf32> {tf.aliasing_output = 3 : i32}, %d: tensor<4xf32> {tf.aliasing_output = 4 : i32})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  %1 = stablehlo.add %c, %d : tensor<4xf32>
  return %0, %zero, %zero, %1, %zero : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
