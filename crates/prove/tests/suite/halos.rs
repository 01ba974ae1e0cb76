//! Windows that reach into the blocks of other devices: rows of neighbors are exchanged, and masked where there are none.

use crate::support::only;

/// The rows `x` of each device along dimension 0, with a row of both neighbors, or zero at the ends.
fn halo(rows: usize, columns: usize) -> String {
    let (x, one, both) = (
        format!("tensor<{rows}x{columns}xf32>"),
        format!("tensor<1x{columns}xf32>"),
        format!("tensor<{}x{columns}xf32>", rows + 2),
    );
    let (count, last, end) = (rows + 2, rows - 1, 4 * rows + 1);
    format!(
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>
        %h0 = stablehlo.slice %x [{last}:{rows}, 0:{columns}] : ({x}) -> {one}
        %h1 = \"stablehlo.collective_permute\"(%h0) <{{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}}> : ({one}) -> {one}
        %h2 = stablehlo.slice %x [0:1, 0:{columns}] : ({x}) -> {one}
        %h3 = \"stablehlo.collective_permute\"(%h2) <{{source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}}> : ({one}) -> {one}
        %h4 = stablehlo.concatenate %h1, %x, %h3, dim = 0 : ({one}, {x}, {one}) -> {both}
        %i = stablehlo.iota dim = 0 : tensor<{count}xi32>
        %u = stablehlo.replica_id : tensor<ui32>
        %d = stablehlo.convert %u : (tensor<ui32>) -> tensor<i32>
        %step = stablehlo.constant dense<-{rows}> : tensor<i32>
        %o = stablehlo.multiply %d, %step : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %end = stablehlo.constant dense<{end}> : tensor<i32>
        %low = stablehlo.add %o, %one : tensor<i32>
        %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<i32>) -> tensor<{count}xi32>
        %m0 = stablehlo.compare GE, %i, %lows, SIGNED : (tensor<{count}xi32>, tensor<{count}xi32>) -> tensor<{count}xi1>
        %high = stablehlo.add %o, %end : tensor<i32>
        %highs = stablehlo.broadcast_in_dim %high, dims = [] : (tensor<i32>) -> tensor<{count}xi32>
        %m1 = stablehlo.compare LT, %i, %highs, SIGNED : (tensor<{count}xi32>, tensor<{count}xi32>) -> tensor<{count}xi1>
        %m2 = stablehlo.and %m0, %m1 : tensor<{count}xi1>
        %m = stablehlo.broadcast_in_dim %m2, dims = [0] : (tensor<{count}xi1>) -> tensor<{count}x{columns}xi1>
        %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {both}
        %halo = stablehlo.select %m, %h4, %zeros : tensor<{count}x{columns}xi1>, {both}"
    )
}

fn convolution(operand: &str, rows: [usize; 2], window: &str) -> String {
    let [from, to] = rows;
    format!(
        "%r = stablehlo.reshape {operand} : (tensor<{from}x3xf32>) -> tensor<1x{from}x3xf32>
        %c = stablehlo.convolution(%r, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window}, rhs_dilate = [1], reverse = [false]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<1x{from}x3xf32>, tensor<3x3x5xf32>) -> tensor<1x{to}x5xf32>
        return %c : tensor<1x{to}x5xf32> }}"
    )
}

/// Variants that change a row of the device before.
const BEFORE: [(&str, &str); 3] = [
    ("[[0, 1], [1, 2], [2, 3]]", "[[0, 1], [1, 3], [2, 2]]"),
    ("[[0, 1], [1, 2], [2, 3]]", "[[1, 0], [2, 1], [3, 2]]"),
    ("%x [3:4, 0:3]", "%x [2:3, 0:3]"),
];

/// Variants that change a row of the device after.
const AFTER: [(&str, &str); 3] = [
    ("[[1, 0], [2, 1], [3, 2]]", "[[2, 0], [1, 1], [3, 2]]"),
    ("%x [0:1, 0:3]", "%x [1:2, 0:3]"),
    ("dense<17>", "dense<15>"),
];

/// A convolution of 16 rows with windows of three, with rows of neighbors.
fn check(sizes: [usize; 2], windows: [&str; 2], more: &[&[(&str, &str)]]) {
    let [all, own] = sizes;
    let original = format!(
        "func.func @main(%x: tensor<16x3xf32>, %w: tensor<3x3x5xf32>) -> tensor<1x{all}x5xf32> {{
        {}",
        convolution("%x", [16, all], windows[0])
    );
    let local = format!(
        "func.func @main(%x: tensor<4x3xf32>, %w: tensor<3x3x5xf32>) -> tensor<1x{own}x5xf32> {{
        {}
        {}",
        halo(4, 3),
        convolution("%halo", [6, own], windows[1])
    );
    let mut wrong = vec![
        ("concatenate %h1, %x, %h3", "concatenate %h3, %x, %h1"),
        ("%high = stablehlo.add %o, %end", "%high = stablehlo.add %o, %one"),
        ("%low = stablehlo.add %o, %one", "%low = stablehlo.add %o, %end"),
    ];
    wrong.extend(more.concat());
    only(&original, &local, &["ab,-", "-,-,-"], &["-,ab,-"], &wrong);
}

#[test]
fn a_convolution_with_rows_of_neighbors() {
    let window = |padding: &str| format!("stride = [1], pad = [[{padding}]], lhs_dilate = [1]");
    let more = [
        ("pad = [[0, 0]]", "pad = [[1, -1]]"),
        ("%zero = stablehlo.constant dense<0.0>", "%zero = stablehlo.constant dense<1.0>"),
        ("%one = stablehlo.constant dense<1>", "%one = stablehlo.constant dense<2>"),
    ];
    check([16, 4], [&window("1, 1"), &window("0, 0")], &[&BEFORE, &AFTER, &more]);
}

#[test]
fn a_convolution_with_a_stride() {
    // The window of the last result ends with the last row of the device.
    let window = |padding: &str| format!("stride = [2], pad = [[{padding}]], lhs_dilate = [1]");
    let more = [("pad = [[0, 0]]", "pad = [[-1, 0]]"), ("pad = [[0, 0]]", "pad = [[1, -1]]")];
    check([8, 2], [&window("1, 0"), &window("0, 0")], &[&BEFORE, &more]);
}

#[test]
fn a_convolution_of_elements_that_are_apart() {
    let window = |padding: &str| format!("stride = [1], pad = [[{padding}]], lhs_dilate = [2]");
    let more = [("pad = [[-1, 0]]", "pad = [[0, -1]]"), ("pad = [[-1, 0]]", "pad = [[-2, 1]]")];
    check([32, 8], [&window("1, 2"), &window("-1, 0")], &[&AFTER, &more]);
}

const MAXIMUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.maximum %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

fn pooling(operand: &str, rows: [usize; 2], padding: usize) -> String {
    let [from, to] = rows;
    format!(
        "%least = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %p = \"stablehlo.reduce_window\"({operand}, %least) <{{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>, padding = dense<[[{padding}, {padding}], [0, 0]]> : tensor<2x2xi64>}}> {MAXIMUM} : (tensor<{from}x3xf32>, tensor<f32>) -> tensor<{to}x3xf32>
        return %p : tensor<{to}x3xf32> }}"
    )
}

#[test]
fn a_maximum_over_windows_with_rows_of_neighbors() {
    let original = format!(
        "func.func @main(%x: tensor<16x3xf32>) -> tensor<16x3xf32> {{
        {}",
        pooling("%x", [16, 16], 1)
    );
    let halo = halo(4, 3)
        .replace("%zero = stablehlo.constant dense<0.0>", "%zero = stablehlo.constant dense<0xFF800000>");
    let local = format!(
        "func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {{
        {halo}
        {}",
        pooling("%halo", [6, 4], 0)
    );
    let more = [
        ("dense<0xFF800000>", "dense<100.0>"),
        ("%high = stablehlo.add %o, %end", "%high = stablehlo.add %o, %one"),
        ("%halo, %least", "%h4, %least"),
        ("array<i64: 1, 1>, padding = dense<[[0, 0]", "array<i64: 1, 1>, padding = dense<[[1, -1]"),
    ];
    only(&original, &local, &["ab,-"], &["ab,-"], &[&BEFORE[..], &AFTER, &more].concat());
}
