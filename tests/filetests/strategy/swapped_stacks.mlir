// Stacks that a loop swaps are not carried in a narrow type: both are all-gathered unchanged.
// RUN: shardc fsdp apply %s --fsdp shard_grad_op --mesh fsdp=4 | FileCheck %s

func.func @main(%w: tensor<3x16x16xf32> {tf.aliasing_output = 0 : i32}, %s: tensor<3x16x16xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<8x16xbf16>) -> (tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<bf16>
  // CHECK: sdy.sharding_constraint %arg0 <@mesh, [{}, {}, {}]> : tensor<3x16x16xf32>
  // CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<1x16x16xf32>
  %l:4 = stablehlo.while(%i = %zero, %ws = %w, %ss = %s, %h = %x) : tensor<i32>, tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<8x16xbf16>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %wide = stablehlo.reshape %row : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %wi = stablehlo.convert %wide : (tensor<16x16xf32>) -> tensor<16x16xbf16>
    %next = stablehlo.dot_general %h, %wi, contracting_dims = [1] x [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %ss, %ws, %next : tensor<i32>, tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<8x16xbf16>
  }
  %loss = stablehlo.reduce(%l#3 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xbf16>, tensor<bf16>) -> tensor<bf16>
  %much = stablehlo.convert %loss : (tensor<bf16>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %much, dims = [] : (tensor<f32>) -> tensor<3x16x16xf32>
  %nw = stablehlo.subtract %w, %all : tensor<3x16x16xf32>
  %ns = stablehlo.subtract %s, %all : tensor<3x16x16xf32>
  return %nw, %ns, %loss : tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<bf16>
}
