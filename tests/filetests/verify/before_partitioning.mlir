// Every command that partitions verifies first, and reports all errors.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: not shardc propagate %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: not test -e %t.mlir

sdy.mesh @mesh = <["x"=2]>
// CHECK: error[SH0212]: {{.*}}axis x is used twice
// CHECK: error[SH0207]: result 0 of stablehlo.negate is tensor<4xi32>, expected tensor<4xf32>
func.func @main(%a: tensor<4xf32>, %b: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) -> tensor<4xi32> {
  %0 = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
