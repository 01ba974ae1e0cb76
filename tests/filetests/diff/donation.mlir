// A donation that a sharding prevents is named.
// RUN: shardc snapshot %s -o %t.before
// RUN: shardc snapshot %s --spec res0=-,- -o %t.after
// RUN: not shardc diff %t.before %t.after | FileCheck %s

// CHECK: SH0317 donations that have no effect: 0 -> 1
sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 0 : i32})
    -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.tanh %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
