//! Values of a program's arguments.

use shardc_ir::{DType, DTypeClass};
use shardc_runtime::{HostArray, RuntimeError};

use crate::fuzz::Rng;

/// Creates an array of element type `dtype` with contents `how`:
///
/// * `wide`: numbers of both signs; `positive`: 0.5 to 2, 1 to 3; `small`: magnitudes below one;
/// * `index N`: -2 to N + 1; `inside N`: 0 to N - 1; `each`: 0, 1, 2 and so on in random order, without repetition;
/// * `sorted N`; `only V`; `definite`: symmetric positive definite matrices.
pub(super) fn filled(
    how: &str,
    dtype: DType,
    shape: &[usize],
    rng: &mut Rng,
) -> Result<HostArray, RuntimeError> {
    let (word, n) = how.split_once(' ').unwrap_or((how, "0"));
    let n: i64 = n.parse().unwrap_or(0);
    let parts = if dtype.class() == DTypeClass::Complex { 2 } else { 1 };
    let count = shape.iter().product::<usize>() * parts;
    let is_whole = matches!(dtype.class(), DTypeClass::Signed | DTypeClass::Unsigned);
    let mut unit = || rng.below(1 << 20) as f64 / f64::from(1 << 20);
    let mut values: Vec<f64> = match word {
        "definite" => return definite(dtype, shape, &mut unit),
        "only" => vec![n as f64; count],
        "index" => (0..count).map(|_| (unit() * (n + 4) as f64).floor() - 2.0).collect(),
        "inside" | "sorted" => (0..count).map(|_| (unit() * n.max(1) as f64).floor()).collect(),
        "each" => (0..count).map(|i| i as f64).collect(),
        "positive" if is_whole => (0..count).map(|_| 1.0 + (unit() * 3.0).floor()).collect(),
        "positive" => (0..count).map(|_| 0.5 + 1.5 * unit()).collect(),
        "small" => (0..count).map(|_| unit() * 1.8 - 0.9).collect(),
        _ if dtype == DType::I1 => (0..count).map(|_| (unit() * 2.0).floor()).collect(),
        _ if dtype.class() == DTypeClass::Unsigned => (0..count).map(|_| (unit() * 10.0).floor()).collect(),
        _ if is_whole => (0..count).map(|_| (unit() * 13.0).floor() - 6.0).collect(),
        _ => (0..count).map(|_| unit() * 4.0 - 2.0).collect(),
    };
    match word {
        "sorted" => values.sort_by(f64::total_cmp),
        "each" => rng.shuffle(&mut values),
        _ => {}
    }
    HostArray::from_f64(dtype, shape, &values)
}

/// Ones on the diagonal, and small numbers elsewhere.
fn definite(dtype: DType, shape: &[usize], unit: &mut dyn FnMut() -> f64) -> Result<HostArray, RuntimeError> {
    let n = shape.last().copied().unwrap_or(1);
    let is_complex = dtype.class() == DTypeClass::Complex;
    let mut values = Vec::new();
    for _ in 0..shape.iter().take(shape.len().saturating_sub(2)).product() {
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            matrix[i * n + i] = 1.0 + unit();
            for j in 0..i {
                let value = (unit() - 0.5) / n as f64;
                (matrix[i * n + j], matrix[j * n + i]) = (value, value);
            }
        }
        for value in matrix {
            values.push(value);
            values.extend(is_complex.then_some(0.0));
        }
    }
    HostArray::from_f64(dtype, shape, &values)
}
