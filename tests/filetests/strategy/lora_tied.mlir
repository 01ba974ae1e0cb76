// Adapters of a map whose weight has other users cannot be merged: this would change the other users.
// RUN: shardc lora %s --rank 2 --targets tied -o %t 2>&1 | FileCheck %s
// RUN: not shardc lora %s --rank 2 -o %t --merge %t.merged 2>&1 | FileCheck %s --check-prefix=MERGE
// RUN: shardc lora %s --rank 2 --targets whole -o %t --merge %t.merged
// RUN: shardc lora %s --rank 2 --targets fused -o %t --merge %t.merged

// CHECK: tied arg0 8 6 arg6, arg7
// CHECK: trainable params
// MERGE: error[SH1252]: the adapters of both cannot be merged: both has another user, and merging would change the result of that user
// MERGE: = help: keep the adapters separate, or leave this layer out of --targets
// MERGE: error[SH1252]: the adapters of both.2 cannot be merged
// MERGE: error[SH1252]: the adapters of small cannot be merged: small has an integer type, and merging would round the sum
func.func @main(%tied: tensor<6x8xf32> loc("tied"), %both: tensor<8x8xf32> loc("both"), %fused: tensor<8x8xf32> loc("fused"), %small: tensor<8x8xi8> loc("small"),
    %whole: tensor<8x8xf32> loc("whole"), %tokens: tensor<4xi32> loc("tokens")) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %at = stablehlo.reshape %tokens : (tensor<4xi32>) -> tensor<4x1xi32>
  %x = "stablehlo.gather"(%tied, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<6x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  %a = stablehlo.dot_general %x, %both, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = stablehlo.tanh %a : tensor<4x8xf32>
  %c = stablehlo.dot_general %b, %both, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %first = stablehlo.slice %fused [0:4, 0:8] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %second = stablehlo.slice %fused [4:8, 0:8] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %d = stablehlo.dot_general %c, %first, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %e = stablehlo.tanh %d : tensor<4x4xf32>
  %f = stablehlo.dot_general %e, %second, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %wide = stablehlo.convert %small : (tensor<8x8xi8>) -> tensor<8x8xf32>
  %g = stablehlo.dot_general %f, %wide, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h = stablehlo.tanh %g : tensor<4x8xf32>
  %i = stablehlo.dot_general %h, %whole, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %j = stablehlo.tanh %i : tensor<4x8xf32>
  %k = stablehlo.dot_general %j, %tied, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %loss = stablehlo.reduce(%k init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
