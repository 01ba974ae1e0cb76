// Each `rule:` line is the sharding rule of the operation below it.

func.func @elementwise(%a: tensor<2x1x4xf32>, %p: tensor<i1>, %s: tensor<f32>) -> tensor<2x1x4xf32> {
  // rule: ([i, j, k], [i, j, k])->([i, j, k]) {i=2, j=1, k=4}
  %0 = stablehlo.add %a, %a : tensor<2x1x4xf32>
  // rule: ([], [i, j, k], [i, j, k])->([i, j, k]) {i=2, j=1, k=4}
  %1 = stablehlo.select %p, %0, %a : tensor<i1>, tensor<2x1x4xf32>
  // rule: ([], [i, j, k], [])->([i, j, k]) {i=2, j=1, k=4}
  %2 = stablehlo.clamp %s, %1, %s : (tensor<f32>, tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x1x4xf32>
  return %2 : tensor<2x1x4xf32>
}

func.func @bitcast(%a: tensor<4x2x2xui32>, %b: tensor<4x2xui64>) -> (tensor<4x2xui64>, tensor<4x2x2xui32>) {
  // rule: ([i, j, k])->([i, j]) {i=4, j=2, k=2} need_replication={k}
  %0 = stablehlo.bitcast_convert %a : (tensor<4x2x2xui32>) -> tensor<4x2xui64>
  // rule: ([i, j])->([i, j, k]) {i=4, j=2, k=2} need_replication={k}
  %1 = stablehlo.bitcast_convert %b : (tensor<4x2xui64>) -> tensor<4x2x2xui32>
  return %0, %1 : tensor<4x2xui64>, tensor<4x2x2xui32>
}

func.func @broadcast(%a: tensor<2x1x4xf32>) -> tensor<2x8x5x4xf32> {
  // rule: ([i, k, m])->([i, j, l, m]) {i=2, j=8, k=1, l=5, m=4}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2, 3] : (tensor<2x1x4xf32>) -> tensor<2x8x5x4xf32>
  return %0 : tensor<2x8x5x4xf32>
}

func.func @transpose(%a: tensor<2x3x5xf32>) -> tensor<5x2x3xf32> {
  // rule: ([j, k, i])->([i, j, k]) {i=5, j=2, k=3}
  %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
  return %0 : tensor<5x2x3xf32>
}

func.func @reshape(%a: tensor<2x3x4xf32>, %b: tensor<6x4xf32>, %c: tensor<8x6xf32>, %d: tensor<5x4xf32>, %e: tensor<1x8xf32>, %f: tensor<0x4xf32>) {
  // rule: ([i, j, k])->([ij, k]) {i=2, j=3, k=4}
  %0 = stablehlo.reshape %a : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // rule: ([i, jk])->([ij, k]) {i=6, j=2, k=2}
  %1 = stablehlo.reshape %b : (tensor<6x4xf32>) -> tensor<12x2xf32>
  // rule: ([ij, k])->([i, jk]) {i=2, j=4, k=6}
  %2 = stablehlo.reshape %c : (tensor<8x6xf32>) -> tensor<2x24xf32>
  // rule: ([i, l])->([j, k]) {i=5, j=4, k=5, l=4}
  %3 = stablehlo.reshape %d : (tensor<5x4xf32>) -> tensor<4x5xf32>
  // rule: ([i, j])->([j, k]) {i=1, j=8, k=1}
  %4 = stablehlo.reshape %e : (tensor<1x8xf32>) -> tensor<8x1xf32>
  %5 = stablehlo.reshape %f : (tensor<0x4xf32>) -> tensor<4x0xf32>
  return
}

func.func @moves(%a: tensor<8x6xf32>, %p: tensor<f32>, %i: tensor<i32>, %u: tensor<8x2xf32>) {
  // rule: ([i, j])->([i, j]) {i=8, j=6} permutation={j}
  %0 = stablehlo.reverse %a, dims = [1] : tensor<8x6xf32>
  // rule: ([i, j])->([i, j]) {i=8, j=6} permutation={i}
  %1 = stablehlo.slice %a [2:6, 0:6] : (tensor<8x6xf32>) -> tensor<4x6xf32>
  // rule: ([i, j], [])->([i, j]) {i=8, j=6} permutation={j}
  %2 = stablehlo.pad %a, %p, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x8xf32>
  // rule: ([i, j], [], [])->([i, j]) {i=8, j=6} need_replication={j} blocked_propagation={j}
  %3 = stablehlo.dynamic_slice %a, %i, %i, sizes = [8, 2] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
  // rule: ([i, j], [i, k], [], [])->([i, j]) {i=8, j=6, k=2} need_replication={k}
  %4 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<8x6xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  // rule: ([i, j], [i, j])->([i, j]) {i=8, j=8} need_replication={j}
  %5 = stablehlo.concatenate %a, %u, dim = 1 : (tensor<8x6xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
  return
}

func.func @roll(%a: tensor<8x6xf32>) -> tensor<8x6xf32> {
  // rule: ([i, j])->([i, j]) {i=8, j=6} permutation={j}
  %0 = stablehlo.slice %a [0:8, 2:6] : (tensor<8x6xf32>) -> tensor<8x4xf32>
  // rule: ([i, j])->([i, j]) {i=8, j=6} permutation={j}
  %1 = stablehlo.slice %a [0:8, 0:2] : (tensor<8x6xf32>) -> tensor<8x2xf32>
  // rule: ([i, j], [i, j])->([i, j]) {i=8, j=6} permutation={j}
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

func.func @dot(%a: tensor<4x8x32xf32>, %b: tensor<4x32x16xf32>) -> tensor<4x8x16xf32> {
  // rule: ([i, j, l], [i, l, k])->([i, j, k]) {i=4, j=8, k=16, l=32} reduction={l}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x32xf32>, tensor<4x32x16xf32>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

func.func @convolution(%x: tensor<2x224x224x192xf32>, %k: tensor<3x3x192x64xf32>) -> tensor<2x112x112x64xf32> {
  // rule: ([i, jk, lm, n], [k, m, n, o])->([i, j, l, o]) {i=2, j=112, k=2, l=112, m=2, n=192, o=64} reduction={k, m, n} permutation={j, l}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x224x224x192xf32>, tensor<3x3x192x64xf32>) -> tensor<2x112x112x64xf32>
  return %0 : tensor<2x112x112x64xf32>
}

func.func @reduce(%a: tensor<2x64x13xf32>, %s: tensor<f32>) -> tensor<2x13xf32> {
  // rule: ([i, j, k], [])->([i, k]) {i=2, j=64, k=13} reduction={j}
  %0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [1] : (tensor<2x64x13xf32>, tensor<f32>) -> tensor<2x13xf32>
  return %0 : tensor<2x13xf32>
}

func.func @reduce_window(%a: tensor<48x48x3xf32>, %s: tensor<f32>) -> tensor<16x48x1xf32> {
  // rule: ([i, j, k], [])->([i, j, k]) {i=16, j=48, k=1} permutation={i, k}
  %0 = "stablehlo.reduce_window"(%a, %s) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1, 3>, window_strides = array<i64: 3, 1, 3>, padding = dense<0> : tensor<3x2xi64>} : (tensor<48x48x3xf32>, tensor<f32>) -> tensor<16x48x1xf32>
  return %0 : tensor<16x48x1xf32>
}

func.func @gather_rows(%t: tensor<100x16xf32>, %i: tensor<4x8x1xi32>) -> tensor<4x8x16xf32> {
  // rule: ([l, k], [i, j, m])->([i, j, k]) {i=4, j=8, k=16, l=100, m=1} reduction={l} need_replication={m}
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<4x8x1xi32>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

func.func @scatter_rows(%t: tensor<100x16xf32>, %i: tensor<4x8x1xi32>, %u: tensor<4x8x16xf32>) -> tensor<100x16xf32> {
  // rule: ([l, k], [i, j, m], [i, j, k])->([l, k]) {i=4, j=8, k=16, l=100, m=1} reduction={i, j} need_replication={m}
  %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<100x16xf32>, tensor<4x8x1xi32>, tensor<4x8x16xf32>) -> tensor<100x16xf32>
  return %0 : tensor<100x16xf32>
}

func.func @scatter_set(%t: tensor<100xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<100xf32> {
  // rule: ([j], [i, k], [i])->([j]) {i=4, j=100, k=1} need_replication={i, k}
  %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<100xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}

func.func @sort(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  // rule: ([i, j])->([i, j]) {i=4, j=8} need_replication={j}
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // rule: ([i])->([i]) {i=8} need_replication={i} blocked_propagation={i}
  %1 = "stablehlo.sort"(%b) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<8xf32>
}

func.func @fft(%a: tensor<4x8xcomplex<f32>>, %b: tensor<4x8xf32>) -> (tensor<4x8xcomplex<f32>>, tensor<4x5xcomplex<f32>>) {
  // rule: ([i, j])->([i, j]) {i=4, j=8} need_replication={j}
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  // rule: ([i, j])->([i, j]) {i=4, j=8} need_replication={j} blocked_propagation={j}
  %1 = stablehlo.fft %b, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
  return %0, %1 : tensor<4x8xcomplex<f32>>, tensor<4x5xcomplex<f32>>
}

func.func @linalg(%a: tensor<2x8x8xf32>, %b: tensor<2x8x5xf32>) -> (tensor<2x8x8xf32>, tensor<2x8x5xf32>) {
  // rule: ([i, j, k])->([i, j, k]) {i=2, j=8, k=8} need_replication={j, k}
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x8x8xf32>
  // rule: ([i, j, l], [i, j, k])->([i, l, k]) {i=2, j=8, k=5, l=8} need_replication={j, k, l}
  %1 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x8x8xf32>, tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %0, %1 : tensor<2x8x8xf32>, tensor<2x8x5xf32>
}

func.func @given(%a: tensor<8x6xf32>) -> tensor<8x6xf32> {
  // rule: ([i, j])->([i, k]) {i=8, j=6, k=6} need_replication={j}, custom
  %0 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=6, k=6} need_replication={j}, custom>} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.custom_call @unknown(%a) : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

func.func @batch_norm(%a: tensor<8x4x3xf32>, %c: tensor<4xf32>) -> tensor<8x4x3xf32> {
  // rule: ([i, j, k], [j], [j], [j], [j])->([i, j, k]) {i=8, j=4, k=3}
  %0 = "stablehlo.batch_norm_inference"(%a, %c, %c, %c, %c) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4x3xf32>
  // rule: ([i, j, k], [j], [j])->([i, j, k], [j], [j]) {i=8, j=4, k=3} need_replication={i, k}
  %1:3 = "stablehlo.batch_norm_training"(%0, %c, %c) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>)
  // rule: ([i, j, k], [j], [j], [j], [i, j, k])->([i, j, k], [j], [j]) {i=8, j=4, k=3} need_replication={i, k}
  %2:3 = "stablehlo.batch_norm_grad"(%a, %c, %c, %c, %1#0) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4x3xf32>) -> (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return %2#0 : tensor<8x4x3xf32>
}

func.func @letters(%a: tensor<8x4x3xf32>, %b: tensor<8x3x5xf32>) -> tensor<8x5xf32> {
  // rule: ([i, j, l], [i, l, k])->([i, j, k]) {i=8, j=4, k=5, l=3} reduction={l}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "bij,bjk->bik"}> : (tensor<8x4x3xf32>, tensor<8x3x5xf32>) -> tensor<8x4x5xf32>
  // rule: ([i, k, j])->([i, j]) {i=8, j=5, k=4} reduction={k}
  %1 = "stablehlo.unary_einsum"(%0) <{einsum_config = "bij->bj"}> : (tensor<8x4x5xf32>) -> tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}

func.func @deprecated(%a: tensor<8x6x3xf32>, %i: tensor<8x5xi32>, %s: tensor<6x3xf32>) -> tensor<8x6x3xf32> {
  // rule: ([i, k, l], [i, j])->([i, j, l]) {i=8, j=5, k=6, l=3} reduction={k}
  %0 = "stablehlo.torch_index_select"(%a, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<8x6x3xf32>, tensor<8x5xi32>) -> tensor<8x5x3xf32>
  // rule: ([j, k])->([i, j, k]) {i=8, j=6, k=3}
  %1 = "stablehlo.broadcast"(%s) <{broadcast_sizes = array<i64: 8>}> : (tensor<6x3xf32>) -> tensor<8x6x3xf32>
  // rule: ([i, j, k], [i, j, k])->([i, j, k]) {i=8, j=6, k=3}
  %2 = "stablehlo.map"(%a, %1) <{dimensions = array<i64: 0, 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %3 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<8x6x3xf32>, tensor<8x6x3xf32>) -> tensor<8x6x3xf32>
  return %2 : tensor<8x6x3xf32>
}

func.func @ragged(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<2x5x7xf32>, %n: tensor<3xi64>) -> tensor<3x2x11x7xf32> {
  // rule: ([j, k, m], [i, j, m, l], [i])->([j, k, l]) {i=3, j=2, k=11, l=7, m=5} reduction={m} need_replication={i, k}
  %0 = "chlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>} : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  // rule: ([j, k, m], [j, m, l], [i])->([i, j, k, l]) {i=3, j=2, k=11, l=7, m=5} need_replication={i, m}
  %1 = "chlo.ragged_dot"(%a, %c, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = []>} : (tensor<2x11x5xf32>, tensor<2x5x7xf32>, tensor<3xi64>) -> tensor<3x2x11x7xf32>
  return %1 : tensor<3x2x11x7xf32>
}

func.func @chlo(%a: tensor<8x1x4xf32>, %b: tensor<3x4xf32>) -> (tensor<8x3x2xf32>, tensor<8x3x2xi32>) {
  // rule: ([i, l, k], [j, k])->([i, j, k]) {i=8, j=3, k=4, l=1}
  %0 = chlo.broadcast_add %a, %b : (tensor<8x1x4xf32>, tensor<3x4xf32>) -> tensor<8x3x4xf32>
  // rule: ([i, j, k])->([i, j, k], [i, j, k]) {i=8, j=3, k=4} need_replication={k} blocked_propagation={i, j, k}
  %1, %2 = chlo.top_k(%0, k = 2) : tensor<8x3x4xf32> -> (tensor<8x3x2xf32>, tensor<8x3x2xi32>)
  return %1, %2 : tensor<8x3x2xf32>, tensor<8x3x2xi32>
}

func.func @dynamic(%a: tensor<8x6xf32>, %s: tensor<3xi32>, %n: tensor<i32>, %p: tensor<2xi32>, %z: tensor<f32>) -> tensor<8x9xf32> {
  // rule: ([i, jk], [l])->([i, j, k]) {i=8, j=2, k=3, l=1}
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<8x6xf32>, tensor<3xi32>) -> tensor<8x2x3xf32>
  // rule: ([i, j], [], [k], [l], [m])->([i, j]) {i=8, j=6, k=1, l=1, m=1} need_replication={j} blocked_propagation={j}
  %1 = stablehlo.dynamic_pad %a, %z, %p, %p, %p : (tensor<8x6xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8x9xf32>
  return %1 : tensor<8x9xf32>
}

func.func @linear_algebra(%a: tensor<2x3x8x4xf32>, %c: tensor<2x8x4xf32>, %d: tensor<2x8x5xf32>) -> tensor<2x3x8x4xf32> {
  // rule: ([i, j, k, l])->([i, j, m, n], [i, j, o]) {i=2, j=3, k=8, l=4, m=8, n=4, o=4} need_replication={k, l, m, n, o}
  %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) : (tensor<2x3x8x4xf32>) -> (tensor<2x3x8x4xf32>, tensor<2x3x4xf32>)
  // rule: ([i, j, k], [i, l, m])->([i, n, o]) {i=2, j=8, k=4, l=8, m=5, n=8, o=4} need_replication={j, k, l, m, n, o}
  %1 = stablehlo.custom_call @mine(%c, %d) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<2x8x4xf32>, tensor<2x8x5xf32>) -> tensor<2x8x4xf32>
  return %0#0 : tensor<2x3x8x4xf32>
}
