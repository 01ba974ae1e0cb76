// Dynamic slice and update along a sharded dimension at indices known at run time: an update is local, and a slice is
// a sum of the parts of each device.
// RUN: shardc opt %s --passes propagate,plan,lower-reshards,localize -split-input-file | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// Only one element of the block is read and written.
// CHECK-LABEL: func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<1x8xf32>, %arg2: tensor<i32>
// CHECK: %[[OWN:.*]] = stablehlo.subtract
// CHECK: %[[AT:.*]] = stablehlo.clamp %{{.*}}, %[[OWN]], %{{.*}} : tensor<i32>
// CHECK: %[[OLD:.*]] = stablehlo.dynamic_slice %arg0, %[[AT]], %{{.*}}, sizes = [1, 8]
// CHECK: %[[NEW:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[OLD]]
// CHECK: stablehlo.dynamic_update_slice %arg0, %[[NEW]], %[[AT]]
// CHECK-NOT: all_gather
func.func @main(
    %cache: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %new: tensor<1x8xf32>, %at: tensor<i32>) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %cache, %new, %at, %zero : (tensor<16x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<i32>)
// CHECK: stablehlo.dynamic_slice %arg0, %{{.*}}, %{{.*}}, sizes = [2, 8]
// CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [2, 0], high = [2, 0]
// CHECK: %[[PART:.*]] = stablehlo.dynamic_slice %{{.*}}, sizes = [2, 8] : (tensor<6x8xf32>
// CHECK: "stablehlo.all_reduce"(%[[PART]])
// CHECK-NOT: all_gather
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<i32>) -> tensor<2x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %at, %zero, sizes = [2, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
