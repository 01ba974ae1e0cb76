// A training step whose gradients and moments are large, but whose batch is larger: each device has a part of the parameters and of their
// state. Parameters are all-gathered beside matmuls, and gradients reduce-scattered (Rajbhandari et al., "ZeRO", 2020).
// RUN: shardc auto %s --target v5e:2x4 -o %t | FileCheck %s
// RUN: shardc partition %t --target v5e:2x4 -o - | FileCheck %s --check-prefix=SPMD

// CHECK: mesh fsdp=8
// CHECK-NEXT: strategy {{full_shard|shard_grad_op}} auto_wrap
// CHECK: x: batch 65536x4096 as fsdp,-
// CHECK: w and others: 2 x parameter 4096x4096 as fsdp,-
// CHECK: strategy: {{full_shard|shard_grad_op}}
// SPMD: %arg0: tensor<512x4096xbf16>
// SPMD: all_gather
// SPMD: reduce_scatter
// SPMD: -> tensor<512x4096xbf16>

func.func @main(
    %w: tensor<4096x4096xbf16> {tf.aliasing_output = 0 : i32},
    %v: tensor<4096x4096xbf16> {tf.aliasing_output = 1 : i32},
    %mw: tensor<4096x4096xf32> {tf.aliasing_output = 2 : i32},
    %mv: tensor<4096x4096xf32> {tf.aliasing_output = 3 : i32},
    %x: tensor<65536x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
  %y = stablehlo.dot_general %h, %v, contracting_dims = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
  %square = stablehlo.multiply %y, %y : tensor<65536x4096xbf16>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<65536x4096xbf16>, tensor<bf16>) -> tensor<bf16>
  %gv = stablehlo.dot_general %h, %y, contracting_dims = [0] x [0] : (tensor<65536x4096xbf16>, tensor<65536x4096xbf16>) -> tensor<4096x4096xbf16>
  %gh = stablehlo.dot_general %y, %v, contracting_dims = [1] x [1] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
  %gw = stablehlo.dot_general %x, %gh, contracting_dims = [0] x [0] : (tensor<65536x4096xbf16>, tensor<65536x4096xbf16>) -> tensor<4096x4096xbf16>
  %gw32 = stablehlo.convert %gw : (tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
  %gv32 = stablehlo.convert %gv : (tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
  %nmw = stablehlo.add %mw, %gw32 : tensor<4096x4096xf32>
  %nmv = stablehlo.add %mv, %gv32 : tensor<4096x4096xf32>
  %cw = stablehlo.convert %nmw : (tensor<4096x4096xf32>) -> tensor<4096x4096xbf16>
  %cv = stablehlo.convert %nmv : (tensor<4096x4096xf32>) -> tensor<4096x4096xbf16>
  %nw = stablehlo.subtract %w, %cw : tensor<4096x4096xbf16>
  %nv = stablehlo.subtract %v, %cv : tensor<4096x4096xbf16>
  return %nw, %nv, %nmw, %nmv, %loss : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<bf16>
}
