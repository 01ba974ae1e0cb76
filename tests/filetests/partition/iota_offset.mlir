// An iota along a dimension that is sharded by the minor axis: every device adds the offset of its shard, (id mod 2)
// * 8.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %[[COUNT:.*]] = stablehlo.iota dim = 0 : tensor<8xi32>
// CHECK-NEXT: %[[ID:.*]] = stablehlo.replica_id : tensor<ui32>
// CHECK-NEXT: %[[ID32:.*]] = stablehlo.convert %[[ID]]
// CHECK-NEXT: %[[TWO:.*]] = stablehlo.constant dense<2>
// CHECK-NEXT: %[[COORDINATE:.*]] = stablehlo.remainder %[[ID32]], %[[TWO]]
// CHECK-NEXT: %[[EIGHT:.*]] = stablehlo.constant dense<8>
// CHECK-NEXT: %[[OFFSET:.*]] = stablehlo.multiply %[[COORDINATE]], %[[EIGHT]]
// CHECK: stablehlo.add %[[COUNT]],
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<16xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}
