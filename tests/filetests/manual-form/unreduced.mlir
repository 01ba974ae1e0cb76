// An unreduced argument passes through a constraint: XLA rejects other users whose results are reduced.
// RUN: shardc partition %s --manual-computation -o - | FileCheck %s

// CHECK: %[[U:.*]] = sdy.sharding_constraint %arg0 <@mesh, [{}], unreduced={"x"}>
// CHECK: sdy.manual_computation(%[[U]]) in_shardings=[<@mesh, [{}], unreduced={"x"}>]
// CHECK-SAME: out_shardings=[<@mesh, [{}]>, <@mesh, [{}], unreduced={"x"}>]
// CHECK: "stablehlo.all_reduce"(%arg1)
// CHECK: sdy.return {{.*}}, %arg1

sdy.mesh @mesh = <["x"=2]>
func.func @main(%u: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = sdy.reshard %u <@mesh, [{}]> : tensor<4xf32>
  return %0, %u : tensor<4xf32>, tensor<4xf32>
}
