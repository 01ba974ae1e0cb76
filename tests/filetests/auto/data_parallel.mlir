// A training step with much more data than parameters: the batch is sharded on all devices, and gradients are all-reduced.
// RUN: shardc auto %s --target v5e:2x4 -o %t --json %t.json | FileCheck %s
// RUN: shardc partition %t --target v5e:2x4 -o - | FileCheck %s --check-prefix=SPMD
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json

// CHECK: v5e:2x4: 8 devices
// CHECK-NEXT: mesh data=8
// CHECK-NEXT: strategy no FSDP
// CHECK-NEXT: time {{.*}}: {{.*}} times the lower bound, {{.*}} for matrix products on all devices at the peak rate
// CHECK: x: batch 4194304x2048 as data,-
// CHECK: choices, and what the next best would cost
// CHECK: mesh: data=8
// SPMD: %arg0: tensor<2048x2048xbf16> {{.*}}, %arg1: tensor<524288x2048xbf16>
// SPMD: all_reduce
// JSON: "mesh": "data=8"
// JSON: "fits": true

func.func @main(
    %w: tensor<2048x2048xbf16> {tf.aliasing_output = 0 : i32},
    %x: tensor<4194304x2048xbf16>) -> (tensor<2048x2048xbf16>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %rate = stablehlo.constant dense<0.1> : tensor<2048x2048xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4194304x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<4194304x2048xbf16>
  %square = stablehlo.multiply %y, %y : tensor<4194304x2048xbf16>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4194304x2048xbf16>, tensor<bf16>) -> tensor<bf16>
  %gradient = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<4194304x2048xbf16>, tensor<4194304x2048xbf16>) -> tensor<2048x2048xbf16>
  %change = stablehlo.multiply %rate, %gradient : tensor<2048x2048xbf16>
  %next = stablehlo.subtract %w, %change : tensor<2048x2048xbf16>
  return %next, %loss : tensor<2048x2048xbf16>, tensor<bf16>
}
