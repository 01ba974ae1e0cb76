// A lookup table is not all-gathered: parts of rows are exchanged, and so are those of its gradient. A table with
// other users is all-gathered like other parameters.
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=8 -o - | FileCheck %s

// CHECK: %[[PARTS:.*]] = "stablehlo.all_to_all"(%arg0) {{.*}} : (tensor<2048x256xf32>) -> tensor<16384x32xf32>
// CHECK: %[[FOUND:.*]] = "stablehlo.gather"(%[[PARTS]], %{{.*}} -> tensor<12288x32xf32>
// CHECK: "stablehlo.all_to_all"(%[[FOUND]]) {{.*}} -> tensor<1536x256xf32>
// CHECK: "stablehlo.all_gather"(%arg1) {{.*}} -> tensor<16384x256xf32>
// CHECK: "stablehlo.scatter"({{.*}}indices_are_sorted
// CHECK: }) : (tensor<16384x32xf32>, tensor<12288x1xi32>, tensor<12288x32xf32>) -> tensor<16384x32xf32>
// CHECK: "stablehlo.all_to_all"({{.*}} : (tensor<16384x32xf32>) -> tensor<2048x256xf32>
func.func public @main(%words: tensor<16384x256xf32> {tf.aliasing_output = 0 : i32}, %tied: tensor<16384x256xf32> {tf.aliasing_output = 1 : i32}, %ids: tensor<12288xi32>) -> (tensor<16384x256xf32>, tensor<16384x256xf32>, tensor<f32>) {
  %at = stablehlo.broadcast_in_dim %ids, dims = [0] : (tensor<12288xi32>) -> tensor<12288x1xi32>
  %a = "stablehlo.gather"(%words, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 256>}> : (tensor<16384x256xf32>, tensor<12288x1xi32>) -> tensor<12288x256xf32>
  %b = "stablehlo.gather"(%tied, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 256>}> : (tensor<16384x256xf32>, tensor<12288x1xi32>) -> tensor<12288x256xf32>
  %x = stablehlo.multiply %a, %b : tensor<12288x256xf32>
  %logits = stablehlo.dot_general %x, %tied, contracting_dims = [1] x [1] : (tensor<12288x256xf32>, tensor<16384x256xf32>) -> tensor<12288x16384xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %squares = stablehlo.multiply %logits, %logits : tensor<12288x16384xf32>
  %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<12288x16384xf32>, tensor<f32>) -> tensor<f32>
  %dx = stablehlo.dot_general %logits, %tied, contracting_dims = [1] x [0] : (tensor<12288x16384xf32>, tensor<16384x256xf32>) -> tensor<12288x256xf32>
  %dhead = stablehlo.dot_general %logits, %x, contracting_dims = [0] x [0] : (tensor<12288x16384xf32>, tensor<12288x256xf32>) -> tensor<16384x256xf32>
  %da = stablehlo.multiply %dx, %b : tensor<12288x256xf32>
  %db = stablehlo.multiply %dx, %a : tensor<12288x256xf32>
  %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<16384x256xf32>
  %dwords = "stablehlo.scatter"(%none, %at, %da) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16384x256xf32>, tensor<12288x1xi32>, tensor<12288x256xf32>) -> tensor<16384x256xf32>
  %dtable = "stablehlo.scatter"(%none, %at, %db) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16384x256xf32>, tensor<12288x1xi32>, tensor<12288x256xf32>) -> tensor<16384x256xf32>
  %dtied = stablehlo.add %dhead, %dtable : tensor<16384x256xf32>
  %words1 = stablehlo.subtract %words, %dwords : tensor<16384x256xf32>
  %tied1 = stablehlo.subtract %tied, %dtied : tensor<16384x256xf32>
  return %words1, %tied1, %loss : tensor<16384x256xf32>, tensor<16384x256xf32>, tensor<f32>
}
