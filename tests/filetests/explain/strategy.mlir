// A training step without annotations is explained as a strategy shards it.
// RUN: shardc explain %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s
// RUN: not shardc explain %s --fsdp fully 2>&1 | FileCheck %s --check-prefix=WORD

// CHECK: axis "fsdp" (4 devices) shards
// CHECK: all_gather
// WORD: error[SH1201]: unknown setting 'fully'

func.func @main(
    %w1: tensor<16x64xf32> {tf.aliasing_output = 0 : i32} loc("w1"),
    %w2: tensor<64x8xf32> {tf.aliasing_output = 1 : i32} loc("w2"),
    %m2: tensor<64x8xf32> {tf.aliasing_output = 2 : i32} loc("m2"),
    %x: tensor<8x16xf32> loc("x")) -> (tensor<16x64xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %t = stablehlo.tanh %y1 : tensor<8x64xf32>
  %y2 = stablehlo.dot_general %t, %w2, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %square = stablehlo.multiply %y2, %y2 : tensor<8x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %dy2 = stablehlo.add %y2, %y2 : tensor<8x8xf32>
  %g2 = stablehlo.dot_general %t, %dy2, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dt = stablehlo.dot_general %dy2, %w2, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<64x8xf32>) -> tensor<8x64xf32>
  %tt = stablehlo.multiply %t, %t : tensor<8x64xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8x64xf32>
  %slope = stablehlo.subtract %one, %tt : tensor<8x64xf32>
  %dy1 = stablehlo.multiply %dt, %slope : tensor<8x64xf32>
  %g1 = stablehlo.dot_general %x, %dy1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %rate1 = stablehlo.constant dense<0.1> : tensor<16x64xf32>
  %rate2 = stablehlo.constant dense<0.1> : tensor<64x8xf32>
  %s1 = stablehlo.multiply %rate1, %g1 : tensor<16x64xf32>
  %n1 = stablehlo.subtract %w1, %s1 : tensor<16x64xf32>
  %old = stablehlo.multiply %rate2, %m2 : tensor<64x8xf32>
  %n3 = stablehlo.add %old, %g2 : tensor<64x8xf32>
  %s2 = stablehlo.multiply %rate2, %n3 : tensor<64x8xf32>
  %n2 = stablehlo.subtract %w2, %s2 : tensor<64x8xf32>
  return %n1, %n2, %n3, %loss : tensor<16x64xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<f32>
}
