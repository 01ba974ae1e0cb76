// Linear layers with scaled 8-bit weights get no adapters, and the weights are not examples: their other matmul operands are.
// RUN: shardc lora %s --rank 2 -o %t 2>&1 | FileCheck %s
// RUN: not shardc lora %s --rank 2 --role plain=batch -o %t 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: plain arg2 6 6 arg5, arg6
// CHECK: out arg3 6 3 none: the output
// NONE: error[SH1252]: no target selects a linear layer of out
// NONE: = help: all-linear leaves out the output of the model
func.func @main(%scale: tensor<6xf32> loc("scale"), %packed: tensor<8x6xi8> loc("packed"), %plain: tensor<6x6xf32> loc("plain"), %out: tensor<6x3xf32> loc("out"),
    %x: tensor<4x6x8xf32> loc("x")) -> tensor<f32> {
  %wide = stablehlo.convert %packed : (tensor<8x6xi8>) -> tensor<8x6xf32>
  %scales = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
  %scaled = stablehlo.multiply %wide, %scales : tensor<8x6xf32>
  %a = stablehlo.dot_general %x, %scaled, contracting_dims = [2] x [0] : (tensor<4x6x8xf32>, tensor<8x6xf32>) -> tensor<4x6x6xf32>
  %b = stablehlo.tanh %a : tensor<4x6x6xf32>
  %c = stablehlo.dot_general %b, %plain, contracting_dims = [2] x [0] : (tensor<4x6x6xf32>, tensor<6x6xf32>) -> tensor<4x6x6xf32>
  %d = stablehlo.tanh %c : tensor<4x6x6xf32>
  %e = stablehlo.dot_general %d, %out, contracting_dims = [2] x [0] : (tensor<4x6x6xf32>, tensor<6x3xf32>) -> tensor<4x6x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x6x3xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
