// Windows of three elements: each device sends one element to either neighbour, and the ends of the dimension have
// the initial value.
// RUN: shardc opt %s --passes propagate,plan,localize | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK: %[[LAST:.*]] = stablehlo.slice %arg0 [3:4]
// CHECK: %[[BEFORE:.*]] = "stablehlo.collective_permute"(%[[LAST]]) {{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
// CHECK: %[[FIRST:.*]] = stablehlo.slice %arg0 [0:1]
// CHECK: %[[AFTER:.*]] = "stablehlo.collective_permute"(%[[FIRST]]) {{.*}}dense<{{\[\[}}1, 0], [2, 1], [3, 2]]>
// CHECK: %[[JOINED:.*]] = stablehlo.concatenate %[[BEFORE]], %arg0, %[[AFTER]], dim = 0
// CHECK: %[[WINDOW:.*]] = stablehlo.select %{{.*}}, %[[JOINED]], %{{.*}} : tensor<6xi1>, tensor<6xf32>
// CHECK: "stablehlo.reduce_window"(%[[WINDOW]], %{{.*}}) <{padding = dense<0> : tensor<1x2xi64>
// CHECK-NOT: all_gather
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
