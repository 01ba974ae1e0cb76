// A constant or a count cannot be a pending sum: every device would add it.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0402]: no way from sharding [{}] to [{}], unreduced={"x"}
// CHECK: error[SH0402]: no way from sharding [{}] to [{}], unreduced={"x"}
// CHECK-NOT: bug in shardc
sdy.mesh @mesh = <["x"=2]>
func.func @main() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<4xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
  %2 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
