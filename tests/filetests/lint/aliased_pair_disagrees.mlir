// A donated argument and its result have different annotations: the result cannot reuse the memory.
// RUN: shardc lint %s | FileCheck %s

sdy.mesh @mesh = <["data"=4]>

// CHECK: warning[SH0905]: argument 0 is donated to result 0, but is sharded [{"data"}, {}], and the result is sharded [{}, {}]: the memory cannot be reused, which costs 2.0 KiB per device
// CHECK: help: annotate the result like the argument: [{"data"}, {}]
// CHECK-NOT: SH0905
// CHECK: 1 warning
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 0 : i32},
                %y: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 1 : i32})
    -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<32x64xf32>) {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  %1 = stablehlo.tanh %y : tensor<32x64xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<32x64xf32>
}
