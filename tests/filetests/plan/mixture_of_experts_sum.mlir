// The outputs of experts are summed on each device before the all-reduce over devices.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=4]>

// CHECK-LABEL: func.func public @main(
// CHECK: %[[Y:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x128x256xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[Y]] init: {{.*}} -> tensor<128x256xf32>
// CHECK: "stablehlo.all_reduce"(%[[SUM]]) <{replica_groups = dense<{{\[\[}}0, 1, 2, 3, 4, 5, 6, 7]]>
// CHECK-NOT: "stablehlo.all_reduce"
func.func public @main(%a: tensor<8x128x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, %b: tensor<8x128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x128x128xf32>, tensor<8x128x256xf32>) -> tensor<8x128x256xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x128x256xf32>, tensor<f32>) -> tensor<128x256xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<128x256xf32>
  return %2 : tensor<128x256xf32>
}
