// A reduction whose initial value is not a scalar needs unsharded operands.
// RUN: shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: shardc opt %t.mlir --passes verify-collectives -o %t.out.mlir

// CHECK: warning[SH0310]: stablehlo.reduce needs dimension 1 of operand 0 replicated, so the operand is all-gathered
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %init: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.reduce(%a init: %init) across dimensions = [0] : (tensor<7x6xf32>, tensor<6xf32>) -> tensor<6xf32>
    reducer(%l: tensor<6xf32>, %r: tensor<6xf32>) {
    %1 = stablehlo.add %l, %r : tensor<6xf32>
    stablehlo.return %1 : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}
