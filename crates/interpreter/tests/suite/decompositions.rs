//! Calls of linear algebra libraries in exact arithmetic: random functions of each matrix of a batch.

use shardc_interpreter::{Array, Exact, Ieee, Options, Value};

use crate::programs::{floats, run};

fn exact(text: &str, args: Vec<Value<Exact>>) -> Array<Exact> {
    run(text, args, Options::default()).unwrap()
}

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 7 + seed) % 23) as f32).collect()
}

fn cholesky(batch: usize) -> String {
    format!(
        "func.func @main(%x: tensor<{batch}x2x2xf32>) -> tensor<{batch}x2x2xf32> {{
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {{mhlo.backend_config = {{uplo = 76 : ui8}}, mhlo.frontend_attributes = {{num_batch_dims = \"1\"}}}}
    : (tensor<{batch}x2x2xf32>) -> (tensor<{batch}x2x2xf32>, tensor<{batch}xi32>)
  %1 = stablehlo.convert %0#1 : (tensor<{batch}xi32>) -> tensor<{batch}xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<{batch}xf32>) -> tensor<{batch}x2x2xf32>
  %3 = stablehlo.add %0#0, %2 : tensor<{batch}x2x2xf32>
  return %3 : tensor<{batch}x2x2xf32>
}}"
    )
}

#[test]
fn each_matrix_is_decomposed_alone() {
    let x = numbers(12, 1);
    let all = exact(&cholesky(3), vec![floats(&[3, 2, 2], &x)]).to_f64_vec();
    for at in 0..3 {
        let one = exact(&cholesky(1), vec![floats(&[1, 2, 2], &x[4 * at..4 * at + 4])]).to_f64_vec();
        assert_eq!(one, all[4 * at..4 * at + 4]);
    }
    assert_ne!(all[..4], all[4..8]);
}

#[test]
fn other_attributes_are_other_functions() {
    let x = || vec![floats(&[1, 2, 2], &numbers(4, 1))];
    let (lower, upper) = (cholesky(1), cholesky(1).replace("uplo = 76", "uplo = 85"));
    assert!(!exact(&lower, x()).equals(&exact(&upper, x())));
}

#[test]
fn right_hand_sides_are_independent() {
    let solve = |rows: usize, columns: usize, side: u8| {
        let size = if side == b'L' { rows } else { columns };
        format!(
            "func.func @main(%a: tensor<{size}x{size}xf32>, %b: tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {{mhlo.backend_config = {{side = {side} : ui8}}, mhlo.frontend_attributes = {{num_batch_dims = \"0\"}}}}
    : (tensor<{size}x{size}xf32>, tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  return %0 : tensor<{rows}x{columns}xf32>
}}"
        )
    };
    let (a, b) = (numbers(9, 3), numbers(6, 5));
    let whole = exact(&solve(3, 2, b'L'), vec![floats(&[3, 3], &a), floats(&[3, 2], &b)]).to_f64_vec();
    for column in 0..2 {
        let own: Vec<f32> = b.iter().skip(column).step_by(2).copied().collect();
        let one = exact(&solve(3, 1, b'L'), vec![floats(&[3, 3], &a), floats(&[3, 1], &own)]).to_f64_vec();
        assert_eq!(one, whole.iter().skip(column).step_by(2).copied().collect::<Vec<_>>());
    }
    let whole = exact(&solve(2, 3, b'R'), vec![floats(&[3, 3], &a), floats(&[2, 3], &b)]).to_f64_vec();
    let one = exact(&solve(1, 3, b'R'), vec![floats(&[3, 3], &a), floats(&[1, 3], &b[3..])]).to_f64_vec();
    assert_eq!(one, whole[3..]);
}

#[test]
fn floats_have_no_decomposition() {
    let error = run::<Ieee>(&cholesky(1), vec![floats(&[1, 2, 2], &numbers(4, 1))], Options::default());
    assert!(error.unwrap_err().contains("lapack_spotrf_ffi"));
}
