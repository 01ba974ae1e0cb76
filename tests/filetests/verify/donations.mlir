// A parameter gives its memory to one result that there is, and a result takes that of one parameter.
// RUN: not shardc partition %s --mesh x=2 -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0219]: parameters 0 and 1 of @main both give their memory to result 0
// CHECK: -- parameter 0
// CHECK: = help: drop one tf.aliasing_output; with jax.buffer_donor instead the memory goes to any result that fits
// CHECK: error[SH0219]: parameter 2 of @main gives its memory to result 2, of 2
// CHECK: error[SH0219]: parameter 3 of @main gives its memory to result -1, of 2
// CHECK: error[SH0219]: tf.aliasing_output of parameter 4 of @main is no integer
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
