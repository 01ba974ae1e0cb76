// A parameter is donated to one existing result, and a result takes the memory of one parameter.
// RUN: not shardc partition %s --mesh x=2 -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0219]: parameters 0 and 1 of @main are both donated to result 0
// CHECK: -- parameter 0
// CHECK: = help: remove one tf.aliasing_output, or replace it by jax.buffer_donor, which donates to any compatible result
// CHECK: error[SH0219]: parameter 2 of @main is donated to result 2, but there are 2 results
// CHECK: error[SH0219]: parameter 3 of @main is donated to result -1, but there are 2 results
// CHECK: error[SH0219]: tf.aliasing_output of parameter 4 of @main must be an integer
// CHECK-NOT: error[
func.func public @main(
    %a: tensor<8x8xf32> {tf.aliasing_output = 0 : i32},
    %b: tensor<8x8xf32> {tf.aliasing_output = 0 : i32},
    %c: tensor<8x8xf32> {tf.aliasing_output = 2 : i32},
    %d: tensor<8x8xf32> {tf.aliasing_output = -1 : i32},
    %e: tensor<8x8xf32> {tf.aliasing_output = "0"},
    %f: tensor<8x8xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>
  return %0, %a : tensor<8x8xf32>, tensor<8x8xf32>
}
