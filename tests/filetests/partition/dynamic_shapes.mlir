// A value with a dynamic dimension is replicated, and its producer runs replicated.
// RUN: shardc partition %s -o %t.mlir
// RUN: shardc opt %t.mlir --passes verify-collectives -o %t.out.mlir
// RUN: FileCheck %s --input-file %t.mlir

// CHECK: stablehlo.atan2 {{.*}} : (tensor<8xf32>, tensor<8xf32>) -> tensor<?xf32>
// CHECK: stablehlo.dynamic_slice %arg1
// CHECK: stablehlo.concatenate %arg2, %arg2, dim = 1 : (tensor<5x?xf32>, tensor<5x?xf32>) -> tensor<5x?xf32>
// CHECK: %[[NONE:.*]] = chlo.broadcast_add {{.*}} -> tensor<?x0xf32>
// CHECK: return {{.*}}, %[[NONE]] : tensor
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<?x4xi32>,
    %c: tensor<5x?xf32>, %d: tensor<0xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %e: tensor<?x1xf32>,
    %i: tensor<i64>) -> (tensor<?xf32>, tensor<2x4xi32>, tensor<5x?xf32>, tensor<?x0xf32>) {
  %0 = stablehlo.atan2 %a, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<?xf32>
  %1 = stablehlo.dynamic_slice %b, %i, %i, sizes = [2, 4] : (tensor<?x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x4xi32>
  %2 = stablehlo.concatenate %c, %c, dim = 1 : (tensor<5x?xf32>, tensor<5x?xf32>) -> tensor<5x?xf32>
  %3 = chlo.broadcast_add %d, %e : (tensor<0xf32>, tensor<?x1xf32>) -> tensor<?x0xf32>
  return %0, %1, %2, %3 : tensor<?xf32>, tensor<2x4xi32>, tensor<5x?xf32>, tensor<?x0xf32>
}
