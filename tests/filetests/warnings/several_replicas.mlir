// A program that is partitioned already has no collectives if only its batch is sharded. Partitioning it once more is reported.
// RUN: shardc partition %s -o %t.once --mesh x=4 --spec arg0=x,- --strict
// RUN: shardc partition %t.once -o %t.twice --mesh x=4 --spec arg0=x,- 2>&1 | FileCheck %s

// CHECK: warning[SH0914]: the program is for 4 replicas, as after partitioning, and is partitioned once more as the program of all devices
// CHECK: partition the original program; if this is the original, remove mhlo.num_replicas

func.func @main(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = stablehlo.tanh %x : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
