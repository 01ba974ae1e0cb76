//! Each rule accepts a correct partition, and rejects variants of it that compute something else.

use shardc_prove::{Options, Verdict, prove};

use crate::support::{boundary, check, module, only, proves, rejects};

const SUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

#[test]
fn a_matmul_of_blocks_is_summed() {
    let original = "func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
        return %0 : tensor<4x6xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>) -> tensor<2x6xf32> {{
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
        %1 = \"stablehlo.all_reduce\"(%0) <{{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<2x6xf32>) -> tensor<2x6xf32>
        return %1 : tensor<2x6xf32> }}"
    );
    let wrong = [
        ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"),
        ("[[0, 1], [2, 3]]> : tensor<2x2xi64>", "[[0, 1, 2, 3]]> : tensor<1x4xi64>"),
        ("stablehlo.add", "stablehlo.maximum"),
        ("return %1", "return %0"),
    ];
    only(original, &local, &["a,b", "b,-"], &["a,-"], &wrong);
    let dropped = local.replace("return %1", "return %0");
    let report = check(original, &dropped, &["a,b", "b,-"], &["a,-"]);
    assert_eq!(report.verdict, Verdict::Refuted, "a partial sum is refuted without a test");
    let place = &report.places[0];
    assert!(place.found.contains("partial sum") && place.found.contains("device % 2"), "{place:?}");
    let repeated = local.replace(
        "return %1",
        &format!(
            "%2 = \"stablehlo.all_reduce\"(%1) <{{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<2x6xf32>) -> tensor<2x6xf32>
            return %2"
        ),
    );
    rejects(original, &repeated, &["a,b", "b,-"], &["a,-"]);
}

#[test]
fn a_gather_of_blocks_keeps_their_order() {
    let original = "func.func @main(%x: tensor<8x3xf32>) -> tensor<8x3xf32> { return %x : tensor<8x3xf32> }";
    let local = "func.func @main(%x: tensor<2x3xf32>) -> tensor<8x3xf32> {
        %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x3xf32>) -> tensor<8x3xf32>
        return %0 : tensor<8x3xf32> }";
    only(
        original,
        local,
        &["ab,-"],
        &["-,-"],
        &[("[[0, 1, 2, 3]]", "[[1, 0, 2, 3]]"), ("[[0, 1, 2, 3]]", "[[0, 2, 1, 3]]")],
    );
    proves(original, &local.replace("[[0, 1, 2, 3]]", "[[0, 2, 1, 3]]"), &["ba,-"], &["-,-"]);
}

#[test]
fn an_all_to_all_moves_a_dimension() {
    let original = "func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> { return %x : tensor<4x8xf32> }";
    let local = "func.func @main(%x: tensor<2x8xf32>) -> tensor<4x4xf32> {
        %0 = \"stablehlo.all_to_all\"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2x8xf32>) -> tensor<4x4xf32>
        return %0 : tensor<4x4xf32> }";
    only(
        original,
        local,
        &["b,-"],
        &["-,b"],
        &[("[[0, 1], [2, 3]]", "[[1, 0], [2, 3]]"), ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]")],
    );
}

#[test]
fn a_reduce_scatter_is_a_sum_and_a_block() {
    let original = "func.func @main(%x: tensor<4x8xf32>) -> tensor<8xf32> {
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
        return %0 : tensor<8xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<2x8xf32>) -> tensor<4xf32> {{
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<8xf32>
        %1 = \"stablehlo.reduce_scatter\"(%0) <{{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<8xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32> }}"
    );
    let wrong = [
        ("[[0, 2], [1, 3]]", "[[2, 0], [1, 3]]"),
        ("[[0, 2], [1, 3]]", "[[0, 1], [2, 3]]"),
        ("dense<0.0>", "dense<1.0>"),
    ];
    only(original, &local, &["a,-"], &["a"], &wrong);
}

#[test]
fn a_slice_at_the_offset_of_the_device_is_its_block() {
    let original = "func.func @main(%x: tensor<8x3xf32>) -> tensor<8x3xf32> { return %x : tensor<8x3xf32> }";
    let local = "func.func @main(%x: tensor<8x3xf32>) -> tensor<4x3xf32> {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %two = stablehlo.constant dense<2> : tensor<ui32>
        %four = stablehlo.constant dense<4> : tensor<i32>
        %d = stablehlo.replica_id : tensor<ui32>
        %r = stablehlo.remainder %d, %two : tensor<ui32>
        %i = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
        %o = stablehlo.multiply %i, %four : tensor<i32>
        %0 = stablehlo.dynamic_slice %x, %o, %z, sizes = [4, 3] : (tensor<8x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
        return %0 : tensor<4x3xf32> }";
    let wrong = [("remainder", "divide"), ("dense<4>", "dense<3>"), ("multiply %i", "add %i")];
    only(original, local, &["-,-"], &["b,-"], &wrong);
}

const TABLE: &str = "%o = stablehlo.multiply %i, %four : tensor<i32>
        %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<32x1xi32>";

fn offset() -> String {
    format!(
        "%two = stablehlo.constant dense<2> : tensor<ui32>
        %four = stablehlo.constant dense<4> : tensor<i32>
        %d = stablehlo.replica_id : tensor<ui32>
        %r = stablehlo.remainder %d, %two : tensor<ui32>
        %i = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
        {TABLE}"
    )
}

#[test]
fn a_lookup_in_blocks_is_masked_and_summed() {
    let numbers = "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>";
    let original = format!(
        "func.func @main(%x: tensor<8x3xf32>, %i: tensor<32x1xi32>) -> tensor<32x3xf32> {{
        %0 = \"stablehlo.gather\"(%x, %i) <{{dimension_numbers = {numbers}, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}}> : (tensor<8x3xf32>, tensor<32x1xi32>) -> tensor<32x3xf32>
        return %0 : tensor<32x3xf32> }}"
    );
    let local = format!(
        "func.func @main(%x: tensor<4x3xf32>, %n: tensor<32x1xi32>) -> tensor<32x3xf32> {{
        {}
        %low = stablehlo.constant dense<0> : tensor<32x1xi32>
        %high = stablehlo.constant dense<7> : tensor<32x1xi32>
        %end = stablehlo.constant dense<4> : tensor<32x1xi32>
        %zero = stablehlo.constant dense<0.0> : tensor<32x3xf32>
        %c = stablehlo.clamp %low, %n, %high : tensor<32x1xi32>
        %s = stablehlo.subtract %c, %b : tensor<32x1xi32>
        %ge = stablehlo.compare GE, %s, %low, SIGNED : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi1>
        %lt = stablehlo.compare LT, %s, %end, SIGNED : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi1>
        %in = stablehlo.and %ge, %lt : tensor<32x1xi1>
        %0 = \"stablehlo.gather\"(%x, %s) <{{dimension_numbers = {numbers}, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}}> : (tensor<4x3xf32>, tensor<32x1xi32>) -> tensor<32x3xf32>
        %flat = stablehlo.reshape %in : (tensor<32x1xi1>) -> tensor<32xi1>
        %m = stablehlo.broadcast_in_dim %flat, dims = [0] : (tensor<32xi1>) -> tensor<32x3xi1>
        %1 = stablehlo.select %m, %0, %zero : tensor<32x3xi1>, tensor<32x3xf32>
        %2 = \"stablehlo.all_reduce\"(%1) <{{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<32x3xf32>) -> tensor<32x3xf32>
        return %2 : tensor<32x3xf32> }}",
        offset()
    );
    let wrong = [
        ("stablehlo.select %m, %0, %zero", "stablehlo.select %m, %0, %0"),
        ("stablehlo.subtract %c, %b", "stablehlo.add %c, %b"),
        ("compare LT", "compare LE"),
        ("stablehlo.and %ge", "stablehlo.or %ge"),
        ("%four = stablehlo.constant dense<4>", "%four = stablehlo.constant dense<3>"),
        ("(%1) <{replica_groups", "(%0) <{replica_groups"),
    ];
    only(&original, &local, &["b,-", "-,-"], &["-,-"], &wrong);
}

#[test]
fn a_scatter_into_blocks_drops_other_rows() {
    let numbers = "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>";
    let original = format!(
        "func.func @main(%i: tensor<32x1xi32>, %u: tensor<32x3xf32>) -> tensor<8x3xf32> {{
        %x = stablehlo.constant dense<0.0> : tensor<8x3xf32>
        %0 = \"stablehlo.scatter\"(%x, %i, %u) <{{scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false}}> {SUM} : (tensor<8x3xf32>, tensor<32x1xi32>, tensor<32x3xf32>) -> tensor<8x3xf32>
        return %0 : tensor<8x3xf32> }}"
    );
    let local = format!(
        "func.func @main(%n: tensor<32x1xi32>, %u: tensor<32x3xf32>) -> tensor<4x3xf32> {{
        {}
        %x = stablehlo.constant dense<0.0> : tensor<4x3xf32>
        %s = stablehlo.subtract %n, %b : tensor<32x1xi32>
        %0 = \"stablehlo.scatter\"(%x, %s, %u) <{{scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false}}> {SUM} : (tensor<4x3xf32>, tensor<32x1xi32>, tensor<32x3xf32>) -> tensor<4x3xf32>
        return %0 : tensor<4x3xf32> }}",
        offset()
    );
    let wrong = [("stablehlo.subtract %n, %b", "stablehlo.add %n, %b"), ("(%x, %s, %u)", "(%x, %n, %u)")];
    only(&original, &local, &["-,-", "-,-"], &["b,-"], &wrong);
}

#[test]
fn a_mask_of_positions_needs_the_offset() {
    let original = "func.func @main(%x: tensor<10x8xf32>) -> tensor<10x8xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<10x8xf32>
        %i = stablehlo.iota dim = 0 : tensor<10x8xi32>
        %j = stablehlo.iota dim = 1 : tensor<10x8xi32>
        %m = stablehlo.compare GE, %i, %j, SIGNED : (tensor<10x8xi32>, tensor<10x8xi32>) -> tensor<10x8xi1>
        %0 = stablehlo.select %m, %x, %zero : tensor<10x8xi1>, tensor<10x8xf32>
        return %0 : tensor<10x8xf32> }";
    let local = "func.func @main(%x: tensor<10x4xf32>) -> tensor<10x4xf32> {
        %two = stablehlo.constant dense<2> : tensor<ui32>
        %four = stablehlo.constant dense<4> : tensor<i32>
        %d = stablehlo.replica_id : tensor<ui32>
        %r = stablehlo.remainder %d, %two : tensor<ui32>
        %e = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
        %o = stablehlo.multiply %e, %four : tensor<i32>
        %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<10x4xi32>
        %zero = stablehlo.constant dense<0.0> : tensor<10x4xf32>
        %i = stablehlo.iota dim = 0 : tensor<10x4xi32>
        %k = stablehlo.iota dim = 1 : tensor<10x4xi32>
        %j = stablehlo.add %k, %b : tensor<10x4xi32>
        %m = stablehlo.compare GE, %i, %j, SIGNED : (tensor<10x4xi32>, tensor<10x4xi32>) -> tensor<10x4xi1>
        %0 = stablehlo.select %m, %x, %zero : tensor<10x4xi1>, tensor<10x4xf32>
        return %0 : tensor<10x4xf32> }";
    let wrong = [
        ("add %k, %b", "add %k, %k"),
        ("GE, %i, %j", "GT, %i, %j"),
        ("GE, %i, %j", "GE, %j, %i"),
        ("select %m, %x, %zero", "select %m, %x, %x"),
    ];
    only(original, local, &["-,b"], &["-,b"], &wrong);
}

#[test]
fn a_permute_of_digits_changes_the_order_of_axes() {
    let original = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
    let local = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = \"stablehlo.collective_permute\"(%x) <{source_target_pairs = dense<[[0, 0], [1, 2], [2, 1], [3, 3]]> : tensor<4x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32> }";
    let wrong = [
        ("[1, 2], [2, 1]", "[1, 1], [2, 2]"),
        ("[[0, 0], [1, 2], [2, 1], [3, 3]]", "[[1, 0], [0, 2], [2, 1], [3, 3]]"),
    ];
    only(original, local, &["ab"], &["ba"], &wrong);
}

#[test]
fn heads_are_split_and_merged() {
    let original = "func.func @main(%x: tensor<4x8xf32>) -> tensor<2x4x4xf32> {
        %0 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
        %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
        %2 = stablehlo.exponential %1 : tensor<2x4x4xf32>
        return %2 : tensor<2x4x4xf32> }";
    let local = "func.func @main(%x: tensor<4x4xf32>) -> tensor<1x4x4xf32> {
        %0 = stablehlo.exponential %x : tensor<4x4xf32>
        %1 = stablehlo.reshape %0 : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
        return %1 : tensor<1x4x4xf32> }";
    only(
        original,
        local,
        &["-,a"],
        &["a,-,-"],
        &[("exponential", "logistic"), ("exponential %x", "negate %x")],
    );
    rejects(original, &local.replace("return %1", "%2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>\nreturn %2"), &["-,a"], &["a,-,-"]);
}

#[test]
fn sums_are_reassociated_but_differences_are_not_exchanged() {
    let original =
        "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.add %x, %y : tensor<4xf32>
        %1 = stablehlo.subtract %0, %z : tensor<4xf32>
        return %1 : tensor<4xf32> }";
    let local = "func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.subtract %y, %z : tensor<2xf32>
        %1 = stablehlo.add %0, %x : tensor<2xf32>
        return %1 : tensor<2xf32> }";
    only(
        original,
        local,
        &["a", "a", "a"],
        &["a"],
        &[
            ("subtract %y, %z", "subtract %z, %y"),
            ("add %0, %x", "add %0, %y"),
            ("add %0, %x", "maximum %0, %x"),
        ],
    );
}

#[test]
fn a_known_loop_is_unrolled() {
    let program = |rows: usize| {
        let (x, s) = (format!("tensor<3x{rows}xf32>"), format!("tensor<1x{rows}xf32>"));
        format!(
            "func.func @main(%x: {x}) -> tensor<{rows}xf32> {{
        %z = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %n = stablehlo.constant dense<3> : tensor<i32>
        %init = stablehlo.constant dense<1.0> : tensor<{rows}xf32>
        %0:2 = stablehlo.while(%i = %z, %c = %init) : tensor<i32>, tensor<{rows}xf32>
        cond {{
          %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %t : tensor<i1>
        }} do {{
          %s = stablehlo.dynamic_slice %x, %i, %z, sizes = [1, {rows}] : ({x}, tensor<i32>, tensor<i32>) -> {s}
          %r = stablehlo.reshape %s : ({s}) -> tensor<{rows}xf32>
          %m = stablehlo.multiply %c, %r : tensor<{rows}xf32>
          %e = stablehlo.tanh %m : tensor<{rows}xf32>
          %next = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %next, %e : tensor<i32>, tensor<{rows}xf32>
        }}
        return %0#1 : tensor<{rows}xf32> }}"
        )
    };
    let wrong = [
        ("dense<3>", "dense<2>"),
        ("dense<1.0>", "dense<2.0>"),
        ("%next = stablehlo.add %i, %one", "%next = stablehlo.add %n, %one"),
    ];
    only(&program(8), &program(4), &["-,b"], &["b"], &wrong);
}

#[test]
fn a_convolution_is_summed_over_features() {
    let conv = |batch: usize, features: usize| {
        format!(
            "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{pad = [[1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<{batch}x6x{features}xf32>, tensor<3x{features}x2xf32>) -> tensor<{batch}x6x2xf32>"
        )
    };
    let original = format!(
        "func.func @main(%x: tensor<4x6x4xf32>, %w: tensor<3x4x2xf32>) -> tensor<4x6x2xf32> {{ {}
        return %0 : tensor<4x6x2xf32> }}",
        conv(4, 4)
    );
    let local = format!(
        "func.func @main(%x: tensor<2x6x2xf32>, %w: tensor<3x2x2xf32>) -> tensor<2x6x2xf32> {{ {}
        %1 = \"stablehlo.all_reduce\"(%0) <{{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<2x6x2xf32>) -> tensor<2x6x2xf32>
        return %1 : tensor<2x6x2xf32> }}",
        conv(2, 2)
    );
    let wrong = [
        ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"),
        ("return %1", "return %0"),
        ("pad = [[1, 1]]", "pad = [[2, 0]]"),
    ];
    only(&original, &local, &["a,-,b", "-,b,-"], &["a,-,-"], &wrong);
}

#[test]
fn a_sort_is_not_split() {
    let program = |rows: usize, columns: usize| {
        let ty = format!("tensor<{rows}x{columns}xf32>");
        format!(
            "func.func @main(%x: {ty}) -> {ty} {{
        %0 = \"stablehlo.sort\"(%x) <{{dimension = 1 : i64, is_stable = true}}> ({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1> }}) : ({ty}) -> {ty}
        return %0 : {ty} }}"
        )
    };
    only(&program(4, 6), &program(2, 6), &["a,-"], &["a,-"], &[("compare LT", "compare GT")]);
    rejects(&program(4, 6), &program(4, 3), &["-,b"], &["-,b"]);
}

#[test]
fn factors_that_do_not_depend_on_an_index_are_moved_out_of_its_sum() {
    let original = "func.func @main(%s: tensor<4xf32>, %x: tensor<4x3xf32>, %w: tensor<4x3xf32>) -> tensor<f32> {
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
        %0 = stablehlo.multiply %x, %b : tensor<4x3xf32>
        %1 = stablehlo.multiply %0, %w : tensor<4x3xf32>
        %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
        return %2 : tensor<f32> }";
    let local = format!(
        "func.func @main(%s: tensor<1xf32>, %x: tensor<1x3xf32>, %w: tensor<1x3xf32>) -> tensor<f32> {{
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.multiply %x, %w : tensor<1x3xf32>
        %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<f32>
        %2 = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
        %3 = stablehlo.multiply %1, %2 : tensor<f32>
        %4 = \"stablehlo.all_reduce\"(%3) <{{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> {SUM} : (tensor<f32>) -> tensor<f32>
        return %4 : tensor<f32> }}"
    );
    let wrong = [
        ("(%3) <{replica", "(%1) <{replica"),
        ("multiply %1, %2", "add %1, %2"),
        ("multiply %x, %w", "multiply %x, %x"),
    ];
    only(original, &local, &["ab", "ab,-", "ab,-"], &[""], &wrong);
}

#[test]
fn combined_gradients_are_concatenated_before_the_reduction() {
    let original = "func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
        %1 = stablehlo.reduce(%y init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
        return %0, %1 : tensor<8xf32>, tensor<8xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {{
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<8xf32>
        %1 = stablehlo.reduce(%y init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<8xf32>
        %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
        %3 = \"stablehlo.all_reduce\"(%2) <{{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<16xf32>) -> tensor<16xf32>
        %4 = stablehlo.slice %3 [0:8] : (tensor<16xf32>) -> tensor<8xf32>
        %5 = stablehlo.slice %3 [8:16] : (tensor<16xf32>) -> tensor<8xf32>
        return %4, %5 : tensor<8xf32>, tensor<8xf32> }}"
    );
    let wrong = [
        ("return %4, %5", "return %5, %4"),
        ("[0:8]", "[1:9]"),
        ("concatenate %0, %1", "concatenate %1, %0"),
    ];
    only(original, &local, &["a,-", "a,-"], &["-", "-"], &wrong);
}

#[test]
fn effects_are_not_proven() {
    let program = |shape: &str| {
        format!(
            "func.func @main(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
            stablehlo.custom_call @print(%x) {{has_side_effect = true}} : (tensor<{shape}xf32>) -> ()
            return %x : tensor<{shape}xf32> }}"
        )
    };
    let (original, local) = (module(&program("8")), module(&program("2")));
    let boundary = boundary(&original, &local, [&["ab"], &["ab"]]);
    let options = Options { test_work: None, ..Options::default() };
    let report = prove(&original, &local, &boundary, &options).unwrap();
    assert_eq!(report.verdict, Verdict::NotDecided);
    assert_eq!((report.outputs, report.places.len()), (vec![true], 1));
}
