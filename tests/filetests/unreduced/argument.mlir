// An argument that is annotated as unreduced has partial sums; operations that are not linear need the sum.
// RUN: shardc partition %s -o - --manifest %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: shardc verify %s

// CHECK: %[[S:.*]] = "stablehlo.all_reduce"(%arg0)
// CHECK: stablehlo.tanh %[[S]]
// JSON: "inputs"
// JSON: "local_shape": [
// JSON-NEXT: 16,
// JSON-NEXT: 16
// JSON: "unreduced": [
// JSON-NEXT: "x"

sdy.mesh @mesh = <["x"=4]>
func.func public @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> tensor<16x16xf32> {
  %1 = stablehlo.tanh %a : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}
