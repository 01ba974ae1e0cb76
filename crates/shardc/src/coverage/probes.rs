//! A small program for each operation, on which its coverage is observed.
//!
//! Sizes are multiples of two and not of three, so that two devices divide them evenly and three do not. The sizes are large enough
//! that an all-gather is never cheaper than another way to partition.

/// A small program that contains one operation.
pub(super) struct Probe {
    /// The operation's name, with dialect.
    pub(super) op: &'static str,
    /// The variant of the operation, such as `along rows`; empty for the usual form.
    pub(super) form: &'static str,
    pub(super) program: &'static str,
}

/// Operations with the same coverage as `op`: the compiler handles them by kind, with the same sharding rule.
pub(super) fn stands_for(op: &str) -> Vec<&'static str> {
    use shardc_ir::{BinaryOp, BroadcastOp, UnaryOp};
    match op {
        "stablehlo.tanh" => UnaryOp::ALL.iter().map(|op| op.name()).chain(["chlo.tan"]).collect(),
        "stablehlo.add" => BinaryOp::ALL.iter().map(|op| op.name()).collect(),
        "chlo.broadcast_add" => BroadcastOp::ALL.iter().map(|op| op.name()).collect(),
        "stablehlo.constant" => vec!["chlo.constant", "sdy.constant"],
        "stablehlo.dot_general" => vec!["stablehlo.dot"],
        "stablehlo.get_tuple_element" => vec!["stablehlo.tuple"],
        _ => Vec::new(),
    }
}

macro_rules! probes {
    ($($op:literal $(($form:literal))? => $program:literal)*) => {
        pub(super) const PROBES: &[Probe] = &[$(Probe { op: $op, form: concat!($($form)?), program: $program }),*];
    };
}

probes! {
    "stablehlo.tanh" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.tanh %a : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.add" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.add %a, %b : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.compare" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xi1> {
        %0 = stablehlo.compare LT, %a, %b : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xi1>
        return %0 : tensor<512x1024xi1> }"
    "stablehlo.select" => "func.func @main(%p: tensor<512x1024xi1>, %a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.select %p, %a, %b : tensor<512x1024xi1>, tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.clamp" => "func.func @main(%l: tensor<f32>, %a: tensor<512x1024xf32>, %h: tensor<f32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<512x1024xf32>, tensor<f32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.convert" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xbf16> {
        %0 = stablehlo.convert %a : (tensor<512x1024xf32>) -> tensor<512x1024xbf16>
        return %0 : tensor<512x1024xbf16> }"
    "stablehlo.bitcast_convert" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024x2xbf16> {
        %0 = stablehlo.bitcast_convert %a : (tensor<512x1024xf32>) -> tensor<512x1024x2xbf16>
        return %0 : tensor<512x1024x2xbf16> }"
    "stablehlo.reduce_precision" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.reduce_precision %a, format = e5m2 : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.map" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.map\"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.multiply %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.constant" => "func.func @main() -> tensor<512x1024xf32> {
        %0 = stablehlo.constant dense<0.5> : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.constant" ("with distinct elements") => "func.func @main() -> tensor<4xf32> {
        %0 = stablehlo.constant dense<[0.5, 1.5, 2.5, 3.5]> : tensor<4xf32>
        return %0 : tensor<4xf32> }"
    "stablehlo.iota" => "func.func @main() -> tensor<512x1024xi32> {
        %0 = stablehlo.iota dim = 0 : tensor<512x1024xi32>
        return %0 : tensor<512x1024xi32> }"
    "stablehlo.broadcast_in_dim" => "func.func @main(%a: tensor<512x1xf32>) -> tensor<256x512x1024xf32> {
        %0 = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<512x1xf32>) -> tensor<256x512x1024xf32>
        return %0 : tensor<256x512x1024xf32> }"
    "stablehlo.broadcast" => "func.func @main(%a: tensor<512xf32>) -> tensor<256x512xf32> {
        %0 = stablehlo.broadcast %a, sizes = [256] : (tensor<512xf32>) -> tensor<256x512xf32>
        return %0 : tensor<256x512xf32> }"
    "stablehlo.reshape" ("merges") => "func.func @main(%a: tensor<512x64x16xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.reshape %a : (tensor<512x64x16xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.reshape" ("splits") => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x64x16xf32> {
        %0 = stablehlo.reshape %a : (tensor<512x1024xf32>) -> tensor<512x64x16xf32>
        return %0 : tensor<512x64x16xf32> }"
    "stablehlo.transpose" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<1024x512xf32> {
        %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<512x1024xf32>) -> tensor<1024x512xf32>
        return %0 : tensor<1024x512xf32> }"
    "stablehlo.reverse" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.reverse %a, dims = [0] : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.slice" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<256x1024xf32> {
        %0 = stablehlo.slice %a [1:512:2, 0:1024] : (tensor<512x1024xf32>) -> tensor<256x1024xf32>
        return %0 : tensor<256x1024xf32> }"
    "stablehlo.dynamic_slice" => "func.func @main(%a: tensor<512x1024xf32>, %i: tensor<i32>) -> tensor<128x1024xf32> {
        %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [128, 1024] : (tensor<512x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x1024xf32>
        return %0 : tensor<128x1024xf32> }"
    "stablehlo.dynamic_update_slice" => "func.func @main(%a: tensor<512x1024xf32>, %u: tensor<128x1024xf32>, %i: tensor<i32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<512x1024xf32>, tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.concatenate" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<256x1024xf32>) -> tensor<768x1024xf32> {
        %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<512x1024xf32>, tensor<256x1024xf32>) -> tensor<768x1024xf32>
        return %0 : tensor<768x1024xf32> }"
    "stablehlo.pad" => "func.func @main(%a: tensor<512x1024xf32>, %p: tensor<f32>) -> tensor<520x1024xf32> {
        %0 = stablehlo.pad %a, %p, low = [4, 0], high = [4, 0], interior = [0, 0] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<520x1024xf32>
        return %0 : tensor<520x1024xf32> }"
    "stablehlo.dot_general" => "func.func @main(%a: tensor<8x512x1024xf32>, %b: tensor<8x1024x256xf32>) -> tensor<8x512x256xf32> {
        %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x512x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x512x256xf32>
        return %0 : tensor<8x512x256xf32> }"
    "stablehlo.einsum" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<1024x256xf32>) -> tensor<512x256xf32> {
        %0 = stablehlo.einsum %a, %b, config = \"ab,bc->ac\" : (tensor<512x1024xf32>, tensor<1024x256xf32>) -> tensor<512x256xf32>
        return %0 : tensor<512x256xf32> }"
    "stablehlo.unary_einsum" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512xf32> {
        %0 = \"stablehlo.unary_einsum\"(%a) <{einsum_config = \"ab->a\"}> : (tensor<512x1024xf32>) -> tensor<512xf32>
        return %0 : tensor<512xf32> }"
    "chlo.ragged_dot" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<4x1024x256xf32>, %g: tensor<4xi64>) -> tensor<512x256xf32> {
        %0 = \"chlo.ragged_dot\"(%a, %b, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<512x1024xf32>, tensor<4x1024x256xf32>, tensor<4xi64>) -> tensor<512x256xf32>
        return %0 : tensor<512x256xf32> }"
    "stablehlo.convolution" => "func.func @main(%a: tensor<64x128x128x32xf32>, %b: tensor<3x3x32x64xf32>) -> tensor<64x128x128x64xf32> {
        %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x128x128x32xf32>, tensor<3x3x32x64xf32>) -> tensor<64x128x128x64xf32>
        return %0 : tensor<64x128x128x64xf32> }"
    "stablehlo.convolution" ("with feature groups") => "func.func @main(%a: tensor<64x128x128x32xf32>, %b: tensor<3x3x1x32xf32>) -> tensor<64x128x128x32xf32> {
        %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64} : (tensor<64x128x128x32xf32>, tensor<3x3x1x32xf32>) -> tensor<64x128x128x32xf32>
        return %0 : tensor<64x128x128x32xf32> }"
    "stablehlo.convolution" ("with batch groups") => "func.func @main(%a: tensor<32x128x128x64xf32>, %b: tensor<3x3x64x32xf32>) -> tensor<1x128x128x32xf32> {
        %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<32x128x128x64xf32>, tensor<3x3x64x32xf32>) -> tensor<1x128x128x32xf32>
        return %0 : tensor<1x128x128x32xf32> }"
    "stablehlo.reduce" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
        return %0 : tensor<512xf32> }"
    "stablehlo.reduce" ("with several operands") => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<512x1024xi32>) -> (tensor<512xf32>, tensor<512xi32>) {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %n = stablehlo.constant dense<0> : tensor<i32>
        %0:2 = stablehlo.reduce(%a init: %z), (%b init: %n) across dimensions = [1] : (tensor<512x1024xf32>, tensor<512x1024xi32>, tensor<f32>, tensor<i32>) -> (tensor<512xf32>, tensor<512xi32>)
          reducer(%l: tensor<f32>, %r: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
            %c = stablehlo.compare GE, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %v = stablehlo.select %c, %l, %r : tensor<i1>, tensor<f32>
            %k = stablehlo.select %c, %i, %j : tensor<i1>, tensor<i32>
            stablehlo.return %v, %k : tensor<f32>, tensor<i32>
          }
        return %0#0, %0#1 : tensor<512xf32>, tensor<512xi32> }"
    "stablehlo.reduce_window" => "func.func @main(%a: tensor<64x512x32xf32>) -> tensor<64x256x32xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = \"stablehlo.reduce_window\"(%a, %z) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.maximum %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<64x512x32xf32>, tensor<f32>) -> tensor<64x256x32xf32>
        return %0 : tensor<64x256x32xf32> }"
    "stablehlo.reduce_window" ("cumulative") => "func.func @main(%a: tensor<64x512xf32>) -> tensor<64x512xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = \"stablehlo.reduce_window\"(%a, %z) <{padding = dense<[[0, 0], [511, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 512>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<64x512xf32>, tensor<f32>) -> tensor<64x512xf32>
        return %0 : tensor<64x512xf32> }"
    "stablehlo.select_and_scatter" => "func.func @main(%a: tensor<64x512x32xf32>, %s: tensor<64x256x32xf32>) -> tensor<64x512x32xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = \"stablehlo.select_and_scatter\"(%a, %s, %z) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        }, {
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<64x512x32xf32>, tensor<64x256x32xf32>, tensor<f32>) -> tensor<64x512x32xf32>
        return %0 : tensor<64x512x32xf32> }"
    "stablehlo.sort" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.sort\"(%a) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        }) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "chlo.top_k" => "func.func @main(%a: tensor<512x1024xf32>) -> (tensor<512x8xf32>, tensor<512x8xi32>) {
        %0:2 = chlo.top_k(%a, k = 8) : tensor<512x1024xf32> -> (tensor<512x8xf32>, tensor<512x8xi32>)
        return %0#0, %0#1 : tensor<512x8xf32>, tensor<512x8xi32> }"
    "stablehlo.gather" => "func.func @main(%t: tensor<1024x256xf32>, %i: tensor<512x1xi32>) -> tensor<512x256xf32> {
        %0 = \"stablehlo.gather\"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}> : (tensor<1024x256xf32>, tensor<512x1xi32>) -> tensor<512x256xf32>
        return %0 : tensor<512x256xf32> }"
    "stablehlo.gather" ("batched") => "func.func @main(%t: tensor<64x1024x256xf32>, %i: tensor<64x512x1xi32>) -> tensor<64x512x256xf32> {
        %0 = \"stablehlo.gather\"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 256>}> : (tensor<64x1024x256xf32>, tensor<64x512x1xi32>) -> tensor<64x512x256xf32>
        return %0 : tensor<64x512x256xf32> }"
    "stablehlo.torch_index_select" => "func.func @main(%t: tensor<1024x256xf32>, %i: tensor<512xi32>) -> tensor<512x256xf32> {
        %0 = \"stablehlo.torch_index_select\"(%t, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<1024x256xf32>, tensor<512xi32>) -> tensor<512x256xf32>
        return %0 : tensor<512x256xf32> }"
    "stablehlo.scatter" => "func.func @main(%t: tensor<1024x256xf32>, %i: tensor<512x1xi32>, %u: tensor<512x256xf32>) -> tensor<1024x256xf32> {
        %0 = \"stablehlo.scatter\"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<1024x256xf32>, tensor<512x1xi32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
        return %0 : tensor<1024x256xf32> }"
    "stablehlo.scatter" ("with replacement") => "func.func @main(%t: tensor<1024x256xf32>, %i: tensor<512x1xi32>, %u: tensor<512x256xf32>) -> tensor<1024x256xf32> {
        %0 = \"stablehlo.scatter\"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          stablehlo.return %y : tensor<f32>
        }) : (tensor<1024x256xf32>, tensor<512x1xi32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
        return %0 : tensor<1024x256xf32> }"
    "stablehlo.rng_bit_generator" => "func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<512x1024xui32>) {
        %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<512x1024xui32>)
        return %0#0, %0#1 : tensor<2xui64>, tensor<512x1024xui32> }"
    "stablehlo.rng" => "func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<512x1024xf32> {
        %s = stablehlo.constant dense<[512, 1024]> : tensor<2xi64>
        %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.fft" => "func.func @main(%a: tensor<512x1024xcomplex<f32>>) -> tensor<512x1024xcomplex<f32>> {
        %0 = stablehlo.fft %a, type = FFT, length = [1024] : (tensor<512x1024xcomplex<f32>>) -> tensor<512x1024xcomplex<f32>>
        return %0 : tensor<512x1024xcomplex<f32>> }"
    "stablehlo.cholesky" => "func.func @main(%a: tensor<512x64x64xf32>) -> tensor<512x64x64xf32> {
        %0 = stablehlo.cholesky %a, lower = true : tensor<512x64x64xf32>
        return %0 : tensor<512x64x64xf32> }"
    "stablehlo.triangular_solve" => "func.func @main(%a: tensor<512x64x64xf32>, %b: tensor<512x64x128xf32>) -> tensor<512x64x128xf32> {
        %0 = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<512x64x64xf32>, tensor<512x64x128xf32>) -> tensor<512x64x128xf32>
        return %0 : tensor<512x64x128xf32> }"
    "stablehlo.batch_norm_training" => "func.func @main(%a: tensor<512x64xf32>, %s: tensor<64xf32>, %o: tensor<64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>) {
        %0:3 = \"stablehlo.batch_norm_training\"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>)
        return %0#0, %0#1, %0#2 : tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32> }"
    "stablehlo.batch_norm_inference" => "func.func @main(%a: tensor<512x64xf32>, %s: tensor<64xf32>, %o: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>) -> tensor<512x64xf32> {
        %0 = \"stablehlo.batch_norm_inference\"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<512x64xf32>
        return %0 : tensor<512x64xf32> }"
    "stablehlo.batch_norm_grad" => "func.func @main(%a: tensor<512x64xf32>, %s: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>, %g: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>) {
        %0:3 = \"stablehlo.batch_norm_grad\"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>)
        return %0#0, %0#1, %0#2 : tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32> }"
    "stablehlo.while" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<512x1024xf32>
        cond {
          %n = stablehlo.constant dense<3> : tensor<i32>
          %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %n = stablehlo.constant dense<1> : tensor<i32>
          %1 = stablehlo.add %i, %n : tensor<i32>
          %2 = stablehlo.tanh %v : tensor<512x1024xf32>
          stablehlo.return %1, %2 : tensor<i32>, tensor<512x1024xf32>
        }
        return %0#1 : tensor<512x1024xf32> }"
    "stablehlo.if" => "func.func @main(%p: tensor<i1>, %a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.if\"(%p) ({
          %1 = stablehlo.tanh %a : tensor<512x1024xf32>
          stablehlo.return %1 : tensor<512x1024xf32>
        }, {
          stablehlo.return %a : tensor<512x1024xf32>
        }) : (tensor<i1>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.case" => "func.func @main(%p: tensor<i32>, %a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.case\"(%p) ({
          %1 = stablehlo.tanh %a : tensor<512x1024xf32>
          stablehlo.return %1 : tensor<512x1024xf32>
        }, {
          stablehlo.return %a : tensor<512x1024xf32>
        }) : (tensor<i32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.optimization_barrier" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.optimization_barrier %a : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.custom_call" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.custom_call @unknown(%a) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.custom_call" ("with a rule") => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.custom_call @unknown(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=512, j=1024}, custom>} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.composite" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.composite \"my.op\" %a {decomposition = @f} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }
      func.func private @f(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.tanh %a : tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "chlo.scan" => "func.func @main(%a: tensor<512x1024xf32>, %i: tensor<1024xf32>) -> (tensor<512x1024xf32>, tensor<1024xf32>) {
        %0:2 = chlo.scan(%a) inits (%i) dimension=0 {
        ^bb0(%x: tensor<1024xf32>, %c: tensor<1024xf32>):
          %1 = stablehlo.add %x, %c : tensor<1024xf32>
          stablehlo.return %1, %1 : tensor<1024xf32>, tensor<1024xf32>
        } : (tensor<512x1024xf32>, tensor<1024xf32>) -> (tensor<512x1024xf32>, tensor<1024xf32>)
        return %0#0, %0#1 : tensor<512x1024xf32>, tensor<1024xf32> }"
    "stablehlo.all_reduce" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.all_gather" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.reduce_scatter" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.reduce_scatter\"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>, scatter_dimension = 0 : i64}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.all_to_all" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.all_to_all\"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64}> : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.collective_permute" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.collective_broadcast" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.cross-replica-sum" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.cross-replica-sum\"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.partition_id" => "func.func @main() -> tensor<ui32> {
        %0 = stablehlo.partition_id : tensor<ui32>
        return %0 : tensor<ui32> }"
    "stablehlo.replica_id" => "func.func @main() -> tensor<ui32> {
        %0 = stablehlo.replica_id : tensor<ui32>
        return %0 : tensor<ui32> }"
    "stablehlo.get_dimension_size" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<i32> {
        %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<512x1024xf32>) -> tensor<i32>
        return %0 : tensor<i32> }"
    "chlo.constant_like" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"chlo.constant_like\"(%a) <{value = 1.5 : f32}> : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "chlo.broadcast_add" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<1024xf32>) -> tensor<512x1024xf32> {
        %0 = chlo.broadcast_add %a, %b : (tensor<512x1024xf32>, tensor<1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "chlo.broadcast_compare" => "func.func @main(%a: tensor<512x1024xf32>, %b: tensor<1024xf32>) -> tensor<512x1024xi1> {
        %0 = \"chlo.broadcast_compare\"(%a, %b) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<512x1024xf32>, tensor<1024xf32>) -> tensor<512x1024xi1>
        return %0 : tensor<512x1024xi1> }"
    "chlo.broadcast_select" => "func.func @main(%p: tensor<512x1024xi1>, %a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"chlo.broadcast_select\"(%p, %a, %b) : (tensor<512x1024xi1>, tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.uniform_quantize" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.uniform_quantize %a : (tensor<512x1024xf32>) -> tensor<512x1024x!quant.uniform<i8:f32, 0.5>>
        %1 = stablehlo.uniform_dequantize %0 : (tensor<512x1024x!quant.uniform<i8:f32, 0.5>>) -> tensor<512x1024xf32>
        return %1 : tensor<512x1024xf32> }"
    "stablehlo.uniform_dequantize" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.uniform_quantize %a : (tensor<512x1024xf32>) -> tensor<512x1024x!quant.uniform<i8:f32, 0.5>>
        %1 = stablehlo.uniform_dequantize %0 : (tensor<512x1024x!quant.uniform<i8:f32, 0.5>>) -> tensor<512x1024xf32>
        return %1 : tensor<512x1024xf32> }"
    "stablehlo.dynamic_reshape" => "func.func @main(%a: tensor<512x1024xf32>, %s: tensor<2xi64>) -> tensor<512x1024xf32> {
        %0 = stablehlo.dynamic_reshape %a, %s : (tensor<512x1024xf32>, tensor<2xi64>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.dynamic_broadcast_in_dim" => "func.func @main(%a: tensor<1024xf32>, %s: tensor<2xi64>) -> tensor<512x1024xf32> {
        %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<1024xf32>, tensor<2xi64>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
    "stablehlo.dynamic_iota" => "func.func @main(%s: tensor<2xi64>) -> tensor<512x1024xi32> {
        %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<512x1024xi32>
        return %0 : tensor<512x1024xi32> }"
    "stablehlo.dynamic_pad" => "func.func @main(%a: tensor<512x1024xf32>, %p: tensor<f32>) -> tensor<520x1024xf32> {
        %n = stablehlo.constant dense<0> : tensor<2xi64>
        %h = stablehlo.constant dense<[8, 0]> : tensor<2xi64>
        %0 = stablehlo.dynamic_pad %a, %p, %n, %h, %n : (tensor<512x1024xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<520x1024xf32>
        return %0 : tensor<520x1024xf32> }"
    "stablehlo.dynamic_pad" ("with dynamic padding") => "func.func @main(%a: tensor<512x1024xf32>, %p: tensor<f32>, %l: tensor<2xi64>) -> tensor<520x1024xf32> {
        %0 = stablehlo.dynamic_pad %a, %p, %l, %l, %l : (tensor<512x1024xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<520x1024xf32>
        return %0 : tensor<520x1024xf32> }"
    "stablehlo.real_dynamic_slice" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<128x1024xf32> {
        %s = stablehlo.constant dense<[4, 0]> : tensor<2xi64>
        %l = stablehlo.constant dense<[132, 1024]> : tensor<2xi64>
        %o = stablehlo.constant dense<1> : tensor<2xi64>
        %0 = stablehlo.real_dynamic_slice %a, %s, %l, %o : (tensor<512x1024xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<128x1024xf32>
        return %0 : tensor<128x1024xf32> }"
    "stablehlo.real_dynamic_slice" ("at a dynamic offset") => "func.func @main(%a: tensor<512x1024xf32>, %s: tensor<2xi64>, %l: tensor<2xi64>) -> tensor<128x1024xf32> {
        %o = stablehlo.constant dense<1> : tensor<2xi64>
        %0 = stablehlo.real_dynamic_slice %a, %s, %l, %o : (tensor<512x1024xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<128x1024xf32>
        return %0 : tensor<128x1024xf32> }"
    "stablehlo.real_dynamic_slice" ("with dynamic strides") => "func.func @main(%a: tensor<512x1024xf32>, %s: tensor<2xi64>) -> tensor<128x1024xf32> {
        %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<512x1024xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<128x1024xf32>
        return %0 : tensor<128x1024xf32> }"
    "stablehlo.dynamic_gather" => "func.func @main(%t: tensor<1024x256xf32>, %i: tensor<512x1xi32>, %s: tensor<2xi32>) -> tensor<512x256xf32> {
        %0 = \"stablehlo.dynamic_gather\"(%t, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<1024x256xf32>, tensor<512x1xi32>, tensor<2xi32>) -> tensor<512x256xf32>
        return %0 : tensor<512x256xf32> }"
    "stablehlo.dynamic_conv" => "func.func @main(%a: tensor<64x128x128x32xf32>, %b: tensor<3x3x32x64xf32>) -> tensor<64x128x128x64xf32> {
        %p = stablehlo.constant dense<1> : tensor<2x2xi64>
        %0 = \"stablehlo.dynamic_conv\"(%a, %b, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<64x128x128x32xf32>, tensor<3x3x32x64xf32>, tensor<2x2xi64>) -> tensor<64x128x128x64xf32>
        return %0 : tensor<64x128x128x64xf32> }"
    "stablehlo.dynamic_conv" ("with dynamic padding") => "func.func @main(%a: tensor<64x128x128x32xf32>, %b: tensor<3x3x32x64xf32>, %p: tensor<2x2xi64>) -> tensor<64x128x128x64xf32> {
        %0 = \"stablehlo.dynamic_conv\"(%a, %b, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<64x128x128x32xf32>, tensor<3x3x32x64xf32>, tensor<2x2xi64>) -> tensor<64x128x128x64xf32>
        return %0 : tensor<64x128x128x64xf32> }"
    "stablehlo.set_dimension_size" => "func.func @main(%a: tensor<512x1024xf32>, %n: tensor<i32>) -> tensor<?x1024xf32, #stablehlo.bounds<512, ?>> {
        %0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<512x1024xf32>, tensor<i32>) -> tensor<?x1024xf32, #stablehlo.bounds<512, ?>>
        return %0 : tensor<?x1024xf32, #stablehlo.bounds<512, ?>> }"
    "stablehlo.get_tuple_element" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = stablehlo.tuple %a : tuple<tensor<512x1024xf32>>
        %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<512x1024xf32>>) -> tensor<512x1024xf32>
        return %1 : tensor<512x1024xf32> }"
    "stablehlo.create_token" => "func.func @main() {
        %0 = stablehlo.create_token : !stablehlo.token
        return }"
    "stablehlo.after_all" => "func.func @main() {
        %0 = stablehlo.create_token : !stablehlo.token
        %1 = stablehlo.after_all %0, %0 : !stablehlo.token
        return }"
    "stablehlo.infeed" => "func.func @main() -> tensor<512x1024xf32> {
        %0 = stablehlo.create_token : !stablehlo.token
        %1:2 = \"stablehlo.infeed\"(%0) <{infeed_config = \"\"}> : (!stablehlo.token) -> (tensor<512x1024xf32>, !stablehlo.token)
        return %1#0 : tensor<512x1024xf32> }"
    "stablehlo.outfeed" => "func.func @main(%a: tensor<512x1024xf32>) {
        %0 = stablehlo.create_token : !stablehlo.token
        %1 = \"stablehlo.outfeed\"(%a, %0) <{outfeed_config = \"\"}> : (tensor<512x1024xf32>, !stablehlo.token) -> !stablehlo.token
        return }"
    "stablehlo.send" => "func.func @main(%a: tensor<512x1024xf32>) {
        %0 = stablehlo.create_token : !stablehlo.token
        %1 = \"stablehlo.send\"(%a, %0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<512x1024xf32>, !stablehlo.token) -> !stablehlo.token
        return }"
    "stablehlo.recv" => "func.func @main() -> tensor<512x1024xf32> {
        %0 = stablehlo.create_token : !stablehlo.token
        %1:2 = \"stablehlo.recv\"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<512x1024xf32>, !stablehlo.token)
        return %1#0 : tensor<512x1024xf32> }"
    "stablehlo.collective_reduce" => "func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
        %0 = \"stablehlo.collective_reduce\"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
        return %0 : tensor<512x1024xf32> }"
}
