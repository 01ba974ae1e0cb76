// A replicated value that is added to an unreduced one counts once: one device adds it to its partial sum. If the
// result is replicated, one all-reduce completes it.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: %[[W:.*]] = stablehlo.select %{{.*}}, %arg1
// CHECK-NEXT: %[[P:.*]] = stablehlo.add %arg0, %[[W]]
// CHECK: "stablehlo.all_reduce"
// CHECK-NOT: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, %w: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.add %a, %w : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced={"x"}> : tensor<8xf32>
  %2 = stablehlo.subtract %a, %w : tensor<8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}]> : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}
