// XLA runs no partitioner on one device, so the program has no manual computation.
// RUN: shardc partition %s --manual-computation -o - | FileCheck %s

// CHECK: mhlo.num_partitions = 1
// CHECK-NOT: sdy.
// CHECK: stablehlo.tanh %arg0 : tensor<6xf32>

sdy.mesh @mesh = <["data"=1]>
func.func @main(%x: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<6xf32> {
  %0 = stablehlo.tanh %x : tensor<6xf32>
  return %0 : tensor<6xf32>
}
