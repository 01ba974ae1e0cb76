// Low-rank adapters for the linear layers of a program: a transposed weight, two slices of one weight, and the output
// layer, which gets none.
// RUN: shardc lora %s --rank 2 --alpha 4 | FileCheck %s
// RUN: shardc lora %s --rank 2 --alpha 4 -o %t --quiet --merge - | FileCheck %s --check-prefix=MERGE
// RUN: shardc lora %s --rank 2 --targets "up,lm_head" --dropout 0.5 | FileCheck %s --check-prefix=DROPOUT
// RUN: not shardc lora %s --targets q_proj 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not shardc lora %s --rank 0 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: shardc lora %s --rank 2 -o %t 2>&1 | FileCheck %s --check-prefix=TABLE

// CHECK: %arg4: tensor<16x2xf32> {jax.arg_info = "lora.h.up.a"}, %arg5: tensor<2x64xf32> {jax.arg_info = "lora.h.up.b"}
// CHECK-SAME: %arg6: tensor<32x2xf32> {jax.arg_info = "lora.h.down[0:32].a"}
// CHECK: %[[UP:.*]] = stablehlo.dot_general %arg3, %{{.*}}, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>)
// CHECK-NEXT: %[[LOW:.*]] = stablehlo.dot_general %arg3, %arg4, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x2xf32>)
// CHECK-NEXT: %[[SCALE:.*]] = stablehlo.constant dense<2.000000e+00>
// CHECK-NEXT: %[[SCALED:.*]] = stablehlo.multiply %[[LOW]], %[[SCALE]]
// CHECK-NEXT: %[[ADDED:.*]] = stablehlo.dot_general %[[SCALED]], %arg5, contracting_dims = [1] x [0]
// CHECK-NEXT: stablehlo.add %[[UP]], %[[ADDED]]

// MERGE: %arg0: tensor<64x16xf32> {jax.arg_info = "h.up.kernel", tf.aliasing_output = 0 : i32}
// MERGE: stablehlo.transpose
// MERGE: stablehlo.pad
// MERGE: stablehlo.pad

// DROPOUT: %arg4: tensor<16x2xf32> {jax.arg_info = "lora.h.up.a"}
// DROPOUT-SAME: "lora.lm_head.a"
// DROPOUT-SAME: %arg8: tensor<2xui32> {jax.arg_info = "dropout_key"}
// DROPOUT: stablehlo.select

// UNKNOWN: error[SH1252]: no linear layer of the program matches the target q_proj
// UNKNOWN: the linear layers are h.up, h.down[0:32], h.down[32:64], lm_head
// RANK: error[SH1252]: the rank of adapters must be at least 1, got 0

// TABLE: linear layer weight inputs outputs layers adapters
// TABLE: h.up arg0 16 64 arg4, arg5
// TABLE: lm_head arg2 16 128 none: the output
// TABLE: trainable params: 352 || all params: 4,448 || trainable%: 7.9137
func.func @main(%up: tensor<64x16xf32> {jax.arg_info = "h.up.kernel"}, %down: tensor<64x16xf32> {jax.arg_info = "h.down.kernel"},
    %head: tensor<16x128xf32> {jax.arg_info = "lm_head.kernel"}, %x: tensor<8x16xf32>) -> tensor<8x128xf32> {
  %t = stablehlo.transpose %up, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %h = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = stablehlo.tanh %h : tensor<8x64xf32>
  %a0 = stablehlo.slice %a [0:8, 0:32] : (tensor<8x64xf32>) -> tensor<8x32xf32>
  %a1 = stablehlo.slice %a [0:8, 32:64] : (tensor<8x64xf32>) -> tensor<8x32xf32>
  %d0 = stablehlo.slice %down [0:32, 0:16] : (tensor<64x16xf32>) -> tensor<32x16xf32>
  %d1 = stablehlo.slice %down [32:64, 0:16] : (tensor<64x16xf32>) -> tensor<32x16xf32>
  %y0 = stablehlo.dot_general %a0, %d0, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %y1 = stablehlo.dot_general %a1, %d1, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %y = stablehlo.add %y0, %y1 : tensor<8x16xf32>
  %out = stablehlo.dot_general %y, %head, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x128xf32>) -> tensor<8x128xf32>
  return %out : tensor<8x128xf32>
}
