// A value that becomes unreduced is kept by the first device along the axes; the others have zeros. A zero constant
// is zero on every device, so it needs no change.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: %[[I:.*]] = stablehlo.iota
// CHECK: %[[FIRST:.*]] = stablehlo.compare EQ
// CHECK: %[[A:.*]] = stablehlo.select %[[FIRST]], %[[I]]
// CHECK: %[[B:.*]] = stablehlo.select %[[FIRST]]
// CHECK-NOT: stablehlo.select
// CHECK-NOT: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=2]>
func.func @main() -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = stablehlo.iota dim = 0 : tensor<4xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
  %2 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
  %4 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %5 = sdy.sharding_constraint %4 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
