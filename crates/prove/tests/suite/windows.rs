//! Reductions over windows, and systems of equations, that are split where they are independent.

use crate::support::{only, rejects};

fn pooling(rows: usize, columns: usize, window: [usize; 2], pooled: [usize; 2]) -> String {
    let ([w0, w1], [p0, p1]) = (window, pooled);
    format!(
        "func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{p0}x{p1}xf32> {{
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = \"stablehlo.reduce_window\"(%x, %zero) <{{window_dimensions = array<i64: {w0}, {w1}>, window_strides = array<i64: {w0}, {w1}>}}> ({{ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
          stablehlo.return %both : tensor<f32> }}) : (tensor<{rows}x{columns}xf32>, tensor<f32>) -> tensor<{p0}x{p1}xf32>
        return %0 : tensor<{p0}x{p1}xf32> }}"
    )
}

#[test]
fn windows_that_do_not_overlap_are_split_between_devices() {
    let original = pooling(8, 12, [2, 3], [4, 4]);
    let local = pooling(4, 6, [2, 3], [2, 2]);
    only(&original, &local, &["a,b"], &["a,b"], &[("stablehlo.add", "stablehlo.multiply")]);
    rejects(&original, &pooling(4, 6, [2, 3], [2, 2]), &["a,b"], &["b,a"]);
}

#[test]
fn right_hand_sides_are_independent() {
    let program = |columns: usize| {
        format!(
            "func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x{columns}xf32>) -> tensor<3x{columns}xf32> {{
        %0 = \"stablehlo.triangular_solve\"(%a, %b) <{{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}> : (tensor<3x3xf32>, tensor<3x{columns}xf32>) -> tensor<3x{columns}xf32>
        return %0 : tensor<3x{columns}xf32> }}"
        )
    };
    only(&program(8), &program(2), &["-,-", "-,ab"], &["-,ab"], &[("lower = true", "lower = false")]);
}
