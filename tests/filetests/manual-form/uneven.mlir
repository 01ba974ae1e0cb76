// A manual computation has even shards.
// RUN: not shardc partition %s --manual-computation -o - 2>&1 | FileCheck %s
// RUN: not shardc partition %s --manual-computation --spmd-mode replica -o - 2>&1 | FileCheck %s --check-prefix=REPLICA

// CHECK: error[SH0514]: argument 0 cannot cross the border of a manual computation: 4 shards of dimension 0, of size 6, are uneven
// CHECK: help: shard a dimension whose size the number of shards divides, or replicate it
// REPLICA: error[SH0513]: a manual computation has collectives across partitions, but the devices of this program are replicas

sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}
