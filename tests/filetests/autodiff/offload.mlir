// Residuals are offloaded to host memory after their producers, in a loop before they are stacked, and are copied
// back before their users.
// RUN: shardc grad %s --wrt x,w --checkpoint dots --offload dots -o - | FileCheck %s
// RUN: shardc grad %s --wrt x,w -o - | FileCheck %s --check-prefix=PLAIN
// RUN: shardc grad %s --wrt x,w --offload dots -o - | shardc opt - --passes 'legalize-backend{target=cpu}' | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: annotate_device_placement
// CHECK: stablehlo.while
// CHECK: %[[DOT:.*]] = stablehlo.dot_general
// CHECK: %[[AWAY:.*]] = stablehlo.custom_call @annotate_device_placement(%[[DOT]]) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}}
// CHECK-NEXT: %[[ROW:.*]] = stablehlo.reshape %[[AWAY]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[ROW]]
// CHECK: %[[LAST:.*]] = stablehlo.dot_general
// CHECK: %[[LAST_AWAY:.*]] = stablehlo.custom_call @annotate_device_placement(%[[LAST]]) {{.*}}"pinned_host"
// CHECK: stablehlo.custom_call @annotate_device_placement(%[[LAST_AWAY]]) {{.*}}"device"
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.custom_call @annotate_device_placement({{.*}}) {{.*}}"device"
func.func @main(%x: tensor<8x16xf32>, %w: tensor<4x16x16xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %h = %x, %ws = %w) : tensor<i32>, tensor<8x16xf32>, tensor<4x16x16xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %s = stablehlo.dynamic_slice %ws, %i, %z, %z, sizes = [1, 16, 16] : (tensor<4x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %l = stablehlo.reshape %s : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %d = stablehlo.dot_general %h, %l, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %t = stablehlo.tanh %d : tensor<8x16xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t, %ws : tensor<i32>, tensor<8x16xf32>, tensor<4x16x16xf32>
  }
  %gram = stablehlo.dot_general %r#1, %r#1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %e = stablehlo.tanh %gram : tensor<8x8xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
