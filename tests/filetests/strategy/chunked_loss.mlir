// An output layer that is read only in loops: the loss is a sum over chunks, and the backward loop recomputes the
// logits from the same activations. Its update does not depend on the forward pass through it, but it is a parameter.
// RUN: shardc fsdp roles %s | FileCheck %s

// CHECK: arg0 w tensor<8x8xf32> parameter res0
// CHECK: arg1 head tensor<8x4xf32> parameter res1
// CHECK: arg2 x tensor<16x8xf32> batch dimension 0
func.func public @main(%w: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}, %head: tensor<8x4xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<16x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %from = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %empty = stablehlo.constant dense<0.0> : tensor<16x8xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %f:4 = stablehlo.while(%i = %from, %sum = %zero, %all = %h, %to = %head) : tensor<i32>, tensor<f32>, tensor<16x8xf32>, tensor<8x4xf32>
  cond {
    %end = stablehlo.constant dense<16> : tensor<i32>
    %more = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %eight = stablehlo.constant dense<8> : tensor<i32>
    %chunk = stablehlo.dynamic_slice %all, %i, %c, sizes = [8, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    %logits = stablehlo.dot_general %chunk, %to, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %squares = stablehlo.multiply %logits, %logits : tensor<8x4xf32>
    %part = stablehlo.reduce(%squares init: %init) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %next = stablehlo.add %sum, %part : tensor<f32>
    %at = stablehlo.add %i, %eight : tensor<i32>
    stablehlo.return %at, %next, %all, %to : tensor<i32>, tensor<f32>, tensor<16x8xf32>, tensor<8x4xf32>
  }
  %b:5 = stablehlo.while(%i = %from, %dhead = %none, %dh = %empty, %all = %h, %to = %head) : tensor<i32>, tensor<8x4xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x4xf32>
  cond {
    %end = stablehlo.constant dense<16> : tensor<i32>
    %more = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %eight = stablehlo.constant dense<8> : tensor<i32>
    %chunk = stablehlo.dynamic_slice %all, %i, %c, sizes = [8, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    %logits = stablehlo.dot_general %chunk, %to, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %own = stablehlo.dot_general %chunk, %logits, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %next = stablehlo.add %dhead, %own : tensor<8x4xf32>
    %back = stablehlo.dot_general %logits, %to, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %rows = stablehlo.dynamic_update_slice %dh, %back, %i, %c : (tensor<16x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
    %at = stablehlo.add %i, %eight : tensor<i32>
    stablehlo.return %at, %next, %rows, %all, %to : tensor<i32>, tensor<8x4xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x4xf32>
  }
  %dw = stablehlo.dot_general %x, %b#2, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %new_w = stablehlo.subtract %w, %dw : tensor<8x8xf32>
  %new_head = stablehlo.subtract %head, %b#1 : tensor<8x4xf32>
  return %new_w, %new_head, %f#1 : tensor<8x8xf32>, tensor<8x4xf32>, tensor<f32>
}
