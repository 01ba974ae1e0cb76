// A composite whose decomposition communicates becomes a call: a back end that replaces it by a kernel would omit the communication.
// RUN: shardc partition %s --keep-composite my.sum -o - 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file %t.err

// CHECK-NOT: stablehlo.composite
// CHECK: call @sum
// WARNING: warning[SH0361]: the composite 'my.sum' becomes a call because its decomposition contains collectives with these shardings
sdy.mesh @mesh = <["data"=4]>
func.func public @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.composite "my.sum" %x {decomposition = @sum} : (tensor<8x16xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @sum(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}
