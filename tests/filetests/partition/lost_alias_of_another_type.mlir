// A parameter with another element type or shape than its aliased result cannot give it its memory: the warning says which differs.
// RUN: shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0317]: parameter 0 cannot be donated to result 0, which has element type bf16, not f32: each device needs 64 B more
// CHECK: = help: convert the parameter or the result to the element type of the other, or do not donate the parameter
// CHECK: warning[SH0317]: parameter 1 cannot be donated to result 1, which is tensor<64xf32>, not tensor<8x8xf32>: each device needs 64 B more
// CHECK: = help: donate the parameter to a result of the same shape
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 1 : i32}) -> (tensor<8x8xbf16>, tensor<64xf32>) {
  %0 = stablehlo.convert %a : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %1 = stablehlo.reshape %b : (tensor<8x8xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<8x8xbf16>, tensor<64xf32>
}
