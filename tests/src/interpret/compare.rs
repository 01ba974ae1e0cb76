//! Whether a result satisfies a test's expectation.

use shardc_ir::floats::power_of_two;
use shardc_ir::{DType, DTypeClass};
use shardc_runtime::HostArray;

use super::expect::Closeness;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Within the tolerance of the test.
    Close,
    /// Outside the tolerance, but the difference can be caused by a different order of summation.
    Rounded,
    /// A larger difference.
    Off(String),
}

/// Compares a result with the expected value.
pub(super) fn judge(expected: &HostArray, got: &HostArray, closeness: Closeness) -> Verdict {
    let difference = match HostArray::compare(expected, got) {
        Ok(difference) => difference,
        Err(error) => return Verdict::Off(error.to_string()),
    };
    let class = expected.dtype.class();
    if difference.mismatches > 0 {
        return Verdict::Off(shown(expected, got));
    }
    if difference.max_abs == 0.0 {
        return Verdict::Close;
    }
    let step = step(expected.dtype);
    let close = match closeness {
        Closeness::Equal => false,
        Closeness::Within(tolerance) => difference.max_abs <= tolerance,
        Closeness::Steps(steps) => {
            let pairs = expected.to_f64_vec().into_iter().zip(got.to_f64_vec());
            pairs.filter(|(a, _)| a.is_finite()).all(|(a, b)| (a - b).abs() <= steps * step * magnitude(a))
        }
    };
    if close {
        Verdict::Close
    } else if matches!(class, DTypeClass::Float | DTypeClass::Complex) && difference.within(16.0 * step) {
        Verdict::Rounded
    } else {
        Verdict::Off(shown(expected, got))
    }
}

/// The largest power of two that is at most `number`.
fn magnitude(number: f64) -> f64 {
    if number == 0.0 { 1.0 } else { number.abs().log2().floor().exp2() }
}

/// The difference between one and the next larger number.
fn step(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => f64::EPSILON,
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        DType::F16 | DType::TF32 => power_of_two(-10),
        DType::BF16 => power_of_two(-7),
        _ if dtype.class() == DTypeClass::Float => 0.25,
        _ => 0.0,
    }
}

/// Formats both arrays if they are small, otherwise their first difference.
fn shown(expected: &HostArray, got: &HostArray) -> String {
    let (a, b) = (expected.to_f64_vec(), got.to_f64_vec());
    if a.len() <= 24 {
        return format!("{b:?} instead of {a:?}");
    }
    let differs = |(a, b): (&f64, &f64)| a != b && !(a.is_nan() && b.is_nan());
    let count = a.iter().zip(&b).filter(|&pair| differs(pair)).count();
    match a.iter().zip(&b).position(differs) {
        Some(at) => {
            format!("{count} of {} differ, first number {at}: {} instead of {}", a.len(), b[at], a[at])
        }
        None => "other bits".to_owned(),
    }
}
