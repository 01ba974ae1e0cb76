// A loop captures an offloaded weight: it is copied to the device in the loop, and again for its update.
// RUN: shardc fsdp apply %s --fsdp "zero1 offload" --mesh fsdp=4 -o %t && FileCheck %s < %t && shardc partition %t -o /dev/null

// CHECK: %arg0: tensor<8x8xf32> {mhlo.memory_kind = "pinned_host"
// CHECK: stablehlo.while
// CHECK: %[[INSIDE:[0-9]+]] = stablehlo.custom_call @annotate_device_placement(%arg0)
// CHECK-NEXT: stablehlo.dot_general %{{.*}}, %[[INSIDE]],
// CHECK: %[[BEHIND:[0-9]+]] = stablehlo.custom_call @annotate_device_placement(%arg0)
// CHECK-NEXT: stablehlo.subtract %[[BEHIND]],
func.func public @main(%w: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<16x8xf32>) -> (tensor<8x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %from = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %from, %h = %x) : tensor<i32>, tensor<16x8xf32>
  cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %d = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %d : tensor<i32>, tensor<16x8xf32>
  }
  %square = stablehlo.multiply %r#1, %r#1 : tensor<16x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %x, %r#1, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %new = stablehlo.subtract %w, %g : tensor<8x8xf32>
  return %new, %loss : tensor<8x8xf32>, tensor<f32>
}
