// The function's results have the annotated sharding, whatever sharding their producers have: here less computation
// along both axes, and an all-gather at the end.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: %[[NEG:.*]] = stablehlo.negate %{{.*}} {{.*}}<@mesh, [{"x"}, {"y"}]>
// CHECK: %[[OUT:.*]] = sdy.reshard %[[NEG]] <@mesh, [{}, {"y"}]>
// CHECK-NEXT: return %[[OUT]]
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = stablehlo.negate %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
