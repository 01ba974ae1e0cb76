// A parameter that is sharded differently from its aliased result cannot give it its memory: a warning reports the bytes.
// RUN: shardc partition %s -o %t.mlir --strict 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0317]: parameter 0 cannot be donated to result 0, which is sharded [{}, {}], not [{"x"}, {}]: each device needs 64 B more
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
