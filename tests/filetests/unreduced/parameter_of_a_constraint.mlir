// A parameter without an annotation is fed replicated, even if a constraint makes it unreduced.
// RUN: shardc partition %s -o - --manifest %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: shardc verify %s

// CHECK: %[[K:.*]] = stablehlo.select %{{.*}}, %arg0
// CHECK: %[[S:.*]] = stablehlo.add %[[K]], %[[K]]
// CHECK: "stablehlo.all_reduce"(%[[S]])
// JSON-NOT: "unreduced"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{}], unreduced={"x"}> : tensor<8xf32>
  %1 = stablehlo.add %0, %0 : tensor<8xf32>
  %2 = stablehlo.exponential %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
