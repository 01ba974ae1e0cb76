// The body of a manual computation has the sizes that its manual axes give, although they do not divide its result.
// RUN: shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: shardc opt %t.mlir --passes verify-collectives -o %t.out.mlir

// CHECK: is resharded from {{.*}} to [{"b"}] at the boundary of a manual computation
// CHECK-NOT: bug in shardc
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<31xf32>) -> tensor<31xf32> {
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", "a", ?}]>]>} : tensor<31xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"b", ?}]>] out_shardings=[<@mesh, [{"b", ?}]>] manual_axes={"b"} (%p: tensor<16xf32>) {
    %2 = stablehlo.add %p, %p : tensor<16xf32>
    sdy.return %2 : tensor<16xf32>
  } : (tensor<31xf32>) -> tensor<31xf32>
  return %1 : tensor<31xf32>
}
