// A constraint propagates backward through producers to an argument without an annotation, but not to a closed one.
// RUN: shardc propagate %s | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK: @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})
// CHECK: stablehlo.add {{.*}}<@mesh, [{"x"}]>
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
