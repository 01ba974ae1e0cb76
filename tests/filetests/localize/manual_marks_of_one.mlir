// With num_partitions=1, no {manual} sharding is emitted: XLA's partitioner does not run, and its simplification of a
// barrier's tuple would leave the shardings of removed elements.
// RUN: shardc opt %s --passes localize --spmd-mode partition | FileCheck %s --implicit-check-not=mhlo.sharding
// RUN: shardc opt %s --passes localize,legalize-backend --spmd-mode partition | FileCheck %s --implicit-check-not=mhlo.sharding

sdy.mesh @mesh = <["a"=1]>

// CHECK: module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}
// CHECK: stablehlo.optimization_barrier
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %0:2 = stablehlo.optimization_barrier %x, %x : tensor<8xf32>, tensor<8xf32>
  return %0#1 : tensor<8xf32>
}
