// An axis that the mesh does not have.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
// CHECK: error[SH01{{[0-9]+}}]: {{.*}}z
// CHECK-NEXT: unknown_axis.mlir:5:
