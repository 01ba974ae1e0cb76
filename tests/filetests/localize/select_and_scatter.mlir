// The gradient of a pooling operation whose windows cross shard borders: each device computes all windows that
// overlap its shard, and keeps the shard.
// RUN: shardc opt %s --passes propagate,plan,localize,dce | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"(%{{.*}}) {{.*}} : (tensor<1xf32>) -> tensor<1xf32>
// CHECK: %[[ALL:.*]] = "stablehlo.select_and_scatter"(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: %[[OWN:.*]] = stablehlo.slice %[[ALL]] [{{[0-9]+}}:{{[0-9]+}}] : (tensor<{{[0-9]+}}xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %[[OWN]]
func.func @main(
    %a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %s: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.compare GE, %l, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<16xf32>, tensor<7xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
