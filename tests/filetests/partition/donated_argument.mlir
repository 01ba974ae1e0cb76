// A donated argument keeps its alias if its local size equals that of the result; otherwise it is only a donor.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["data"=4]>

// CHECK: func.func @main(%arg0: tensor<2xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {jax.buffer_donor = true})
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>, tf.aliasing_output = 0 : i32},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>, tf.aliasing_output = 1 : i32})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
