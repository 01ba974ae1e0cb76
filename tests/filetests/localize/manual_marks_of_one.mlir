// One partition is marked by nothing: XLA's partitioner does not run, and what simplifies the tuple of a barrier leaves the marks of
// values behind that it took out.
// RUN: shardc opt %s --passes localize --spmd-mode partition | FileCheck %s --implicit-check-not=mhlo.sharding
// RUN: shardc opt %s --passes localize,legalize-backend --spmd-mode partition | FileCheck %s --implicit-check-not=mhlo.sharding

sdy.mesh @mesh = <["a"=1]>

// CHECK: module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}
// CHECK: stablehlo.optimization_barrier
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %0:2 = stablehlo.optimization_barrier %x, %x : tensor<8xf32>, tensor<8xf32>
  return %0#1 : tensor<8xf32>
}
