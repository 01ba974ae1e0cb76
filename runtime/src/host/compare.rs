//! Comparison of an array with its reference.

use shardc_ir::{DType, DTypeClass};

use super::number;

/// The difference between an array and a reference of the same type and shape.
///
/// Integers and booleans are compared for equality. The error of a float is relative to the largest finite magnitude of the whole
/// reference, so that an element that is almost zero by cancellation does not make a correct result fail. NaN equals NaN, and an infinity
/// equals itself. The two parts of a complex element count as one float each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// The maximum of `|reference - got|` over elements that are finite in both.
    pub max_abs: f64,
    /// `max_abs` divided by the largest finite `|reference|`; `max_abs` itself if that magnitude is zero.
    pub max_rel_to_scale: f64,
    /// The number of mismatched elements: integers and booleans that are not equal, and floats of which exactly one is finite, or which are
    /// different non-finite values.
    pub mismatches: usize,
    /// The fraction of the reference's elements that are finite; 1 for an empty array. If it is low, the comparison is weak, because NaN
    /// equals NaN.
    pub finite_share: f64,
    /// The number of compared elements; complex elements count twice.
    pub compared: usize,
}

impl Difference {
    /// Returns whether there are no mismatches and the relative error of floats is at most `tolerance`.
    #[must_use]
    pub fn within(&self, tolerance: f64) -> bool {
        self.mismatches == 0 && self.max_rel_to_scale <= tolerance
    }

    /// Merges two differences: the maximum of each error, the sums of the counts, and the weighted mean of the finite fractions.
    #[must_use]
    pub fn worst(self, other: Difference) -> Difference {
        let compared = self.compared + other.compared;
        let finite = self.finite_share * self.compared as f64 + other.finite_share * other.compared as f64;
        Difference {
            max_abs: self.max_abs.max(other.max_abs),
            max_rel_to_scale: self.max_rel_to_scale.max(other.max_rel_to_scale),
            mismatches: self.mismatches + other.mismatches,
            finite_share: if compared == 0 { 1.0 } else { finite / compared as f64 },
            compared,
        }
    }
}

/// Compares arrays of the same type and size.
pub(super) fn compare(dtype: DType, reference: &[u8], got: &[u8]) -> Difference {
    match dtype.class() {
        DTypeClass::Float | DTypeClass::Complex => compare_floats(dtype, reference, got),
        DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned => compare_exact(dtype, reference, got),
    }
}

fn compare_exact(dtype: DType, reference: &[u8], got: &[u8]) -> Difference {
    let mut difference = Difference { finite_share: 1.0, ..Difference::default() };
    let value = |bytes: &[u8]| {
        let mut wide = [0u8; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        match dtype {
            DType::I1 => u64::from(bytes.iter().any(|&b| b != 0)),
            _ => number::integer(dtype, u64::from_le_bytes(wide)),
        }
    };
    let width = dtype.bytes();
    let mut scale = 0f64;
    for (a, b) in reference.chunks_exact(width).zip(got.chunks_exact(width)) {
        let (a, b) = (value(a), value(b));
        let (wide_a, wide_b) = match dtype.class() {
            DTypeClass::Signed => (i128::from(a as i64), i128::from(b as i64)),
            _ => (i128::from(a), i128::from(b)),
        };
        difference.compared += 1;
        scale = scale.max(wide_a.unsigned_abs() as f64);
        if a != b {
            difference.mismatches += 1;
            difference.max_abs = difference.max_abs.max((wide_a - wide_b).unsigned_abs() as f64);
        }
    }
    difference.max_rel_to_scale = relative(difference.max_abs, scale);
    difference
}

fn compare_floats(dtype: DType, reference: &[u8], got: &[u8]) -> Difference {
    let reference = number::decode_all(dtype, reference);
    let got = number::decode_all(dtype, got);
    let mut difference = Difference { compared: reference.len(), finite_share: 1.0, ..Difference::default() };
    let mut scale = 0f64;
    let mut finite = 0usize;
    for (&a, &b) in reference.iter().zip(&got) {
        if a.is_finite() {
            finite += 1;
            scale = scale.max(a.abs());
        }
        if a.is_finite() && b.is_finite() {
            difference.max_abs = difference.max_abs.max((a - b).abs());
        } else if a != b && !(a.is_nan() && b.is_nan()) {
            difference.mismatches += 1;
        }
    }
    if !reference.is_empty() {
        difference.finite_share = finite as f64 / reference.len() as f64;
    }
    difference.max_rel_to_scale = relative(difference.max_abs, scale);
    difference
}

fn relative(error: f64, scale: f64) -> f64 {
    if scale > 0.0 { error / scale } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostArray;

    fn difference(dtype: DType, reference: &[f64], got: &[f64]) -> Difference {
        let array = |values: &[f64]| HostArray::from_f64(dtype, &[values.len()], values).unwrap();
        HostArray::compare(&array(reference), &array(got)).unwrap()
    }

    #[test]
    fn error_is_relative_to_the_whole_reference() {
        let d = difference(DType::F32, &[100.0, 0.0], &[100.0, 1.0]);
        assert_eq!((d.max_abs, d.max_rel_to_scale, d.mismatches), (1.0, 0.01, 0));
        assert!(d.within(0.01) && !d.within(0.009));
    }

    #[test]
    fn non_finite_values_must_match() {
        let nan = f64::NAN;
        let inf = f64::INFINITY;
        let d = difference(DType::BF16, &[nan, inf, 1.0, 1.0], &[nan, inf, 1.0, nan]);
        assert_eq!((d.mismatches, d.finite_share), (1, 0.5));
        assert_eq!(difference(DType::F64, &[inf], &[-inf]).mismatches, 1);
    }

    #[test]
    fn integers_are_equal_or_not() {
        let d = difference(DType::I32, &[1.0, 2.0, -3.0], &[1.0, 2.0, 3.0]);
        assert_eq!((d.mismatches, d.max_abs), (1, 6.0));
        assert!(!d.within(f64::INFINITY));
        assert_eq!(difference(DType::I1, &[1.0, 0.0], &[1.0, 1.0]).mismatches, 1);
    }

    #[test]
    fn unused_bits_of_narrow_integers_do_not_count() {
        let a = HostArray::new(DType::I4, &[1], vec![0x0f]).unwrap();
        let b = HostArray::new(DType::I4, &[1], vec![0xff]).unwrap();
        assert_eq!(HostArray::compare(&a, &b).unwrap().mismatches, 0);
    }

    #[test]
    fn shapes_must_agree() {
        let a = HostArray::zeros(DType::F32, &[2]).unwrap();
        assert!(HostArray::compare(&a, &HostArray::zeros(DType::F32, &[1, 2]).unwrap()).is_err());
        assert!(HostArray::compare(&a, &HostArray::zeros(DType::F64, &[2]).unwrap()).is_err());
    }
}
