// Slicing out a shard: start indices are coordinates times shard sizes. The minor coordinate is id mod 2, the major
// one id div 2; the id is a replica id or a partition id.
// RUN: shardc opt %s --passes localize | FileCheck %s --check-prefixes=CHECK,REPLICA
// RUN: shardc opt %s --passes localize --spmd-mode partition | FileCheck %s --check-prefixes=CHECK,PARTITION

sdy.mesh @mesh = <["a"=2, "b"=2]>

// REPLICA: stablehlo.replica_id
// PARTITION: stablehlo.partition_id
// CHECK: %[[B:.*]] = stablehlo.remainder
// CHECK: %[[ROW:.*]] = stablehlo.multiply %[[B]], %{{.*}} : tensor<i32>
// CHECK: %[[A:.*]] = stablehlo.divide
// CHECK: %[[COLUMN:.*]] = stablehlo.multiply %[[A]], %{{.*}} : tensor<i32>
// CHECK: stablehlo.dynamic_slice %arg0, %[[ROW]], %[[COLUMN]], sizes = [4, 4] {{.*}} -> tensor<4x4xf32>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>}) {
  %0 = sdy.all_slice [{"b"}, {"a"}] %x out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
