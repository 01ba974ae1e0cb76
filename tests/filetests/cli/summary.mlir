// --summary counts the collectives of the partitioned program.
// RUN: shardc partition %s -o %t.mlir --summary 2>&1 | FileCheck %s

sdy.mesh @mesh = <["data"=4]>
// CHECK: collective count in loops runs sent per device
// CHECK-NEXT: all_reduce 1 0 1 384 B
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
