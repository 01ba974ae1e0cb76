//! Element-wise reductions of arrays.

use shardc_ir::{DType, DTypeClass, ReductionKind};

use super::{HostArray, number};
use crate::error::{Result, RuntimeError};

impl HostArray {
    /// Combines arrays element by element. Floats are summed in double precision and rounded once.
    ///
    /// # Errors
    ///
    /// There are no arrays, or their element types or shapes differ.
    pub fn combined(arrays: &[&HostArray], by: ReductionKind) -> Result<HostArray> {
        let Some((&first, others)) = arrays.split_first() else {
            return Err(RuntimeError::Argument("no arrays to combine".to_owned()));
        };
        first.check()?;
        for other in others {
            other.check()?;
            if other.dtype != first.dtype || other.shape != first.shape {
                let (a, b) = (first.ty(), other.ty());
                return Err(RuntimeError::Argument(format!(
                    "cannot combine arrays of different types: {a} and {b}"
                )));
            }
        }
        if others.is_empty() {
            return Ok(first.clone());
        }
        let data = match first.dtype.class() {
            DTypeClass::Float | DTypeClass::Complex => floats(first.dtype, arrays, by),
            DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned => integers(first.dtype, arrays, by),
        };
        HostArray::new(first.dtype, &first.shape, data)
    }

    /// Returns an array of identity elements of the reduction, such as zeros for a sum. `None` for idempotent reductions such as the
    /// maximum, which need no identity elements: combining an element with itself does not change it.
    pub(crate) fn neutral(dtype: DType, shape: &[usize], by: ReductionKind) -> Option<Result<HostArray>> {
        match by {
            ReductionKind::Add | ReductionKind::Xor => Some(HostArray::zeros(dtype, shape)),
            ReductionKind::Mul => {
                let parts = if dtype.class() == DTypeClass::Complex { 2 } else { 1 };
                let count = shape.iter().fold(parts, |all: usize, &n| all.saturating_mul(n));
                let ones: Vec<f64> = (0..count).map(|i| if i % parts == 0 { 1.0 } else { 0.0 }).collect();
                Some(HostArray::from_f64(dtype, shape, &ones))
            }
            ReductionKind::Max | ReductionKind::Min | ReductionKind::And | ReductionKind::Or => None,
        }
    }
}

fn floats(dtype: DType, arrays: &[&HostArray], by: ReductionKind) -> Vec<u8> {
    let parts = if dtype.class() == DTypeClass::Complex { 2 } else { 1 };
    let mut sum = arrays[0].to_f64_vec();
    for other in &arrays[1..] {
        for (a, b) in sum.chunks_exact_mut(parts).zip(other.to_f64_vec().chunks_exact(parts)) {
            match (by, a, b) {
                (ReductionKind::Mul, [re, im], &[c, d]) => {
                    (*re, *im) = (*re * c - *im * d, *re * d + *im * c)
                }
                (by, a, b) => a.iter_mut().zip(b).for_each(|(a, &b)| *a = float(*a, b, by)),
            }
        }
    }
    let mut data = Vec::with_capacity(arrays[0].data.len());
    sum.into_iter().for_each(|value| number::encode(dtype, value, &mut data));
    data
}

fn float(a: f64, b: f64, by: ReductionKind) -> f64 {
    match by {
        ReductionKind::Mul => a * b,
        // The maximum or minimum is NaN if one of the operands is NaN.
        ReductionKind::Max | ReductionKind::Min if a.is_nan() || b.is_nan() => f64::NAN,
        ReductionKind::Max => a.max(b),
        ReductionKind::Min => a.min(b),
        // And, or and xor are not defined for floats, so this is always an addition.
        ReductionKind::Add | ReductionKind::And | ReductionKind::Or | ReductionKind::Xor => a + b,
    }
}

fn integers(dtype: DType, arrays: &[&HostArray], by: ReductionKind) -> Vec<u8> {
    let width = dtype.bytes();
    let mut data = Vec::with_capacity(arrays[0].data.len());
    for at in (0..arrays[0].data.len()).step_by(width) {
        let element = |array: &HostArray| {
            let mut wide = [0u8; 8];
            wide[..width].copy_from_slice(&array.data[at..at + width]);
            number::integer(dtype, u64::from_le_bytes(wide))
        };
        let mut sum = element(arrays[0]);
        for other in &arrays[1..] {
            sum = integer(dtype, sum, element(other), by);
        }
        // The unused high bits of an element smaller than a byte must be zero.
        let kept = if dtype.bits() < 8 { sum & ((1 << dtype.bits()) - 1) } else { sum };
        data.extend_from_slice(&kept.to_le_bytes()[..width]);
    }
    data
}

fn integer(dtype: DType, a: u64, b: u64, by: ReductionKind) -> u64 {
    let is_bool = dtype.class() == DTypeClass::Bool;
    let signed = dtype.class() == DTypeClass::Signed;
    let is_less = if signed { (a as i64) < b as i64 } else { a < b };
    match by {
        ReductionKind::Add if is_bool => a | b,
        ReductionKind::Mul if is_bool => a & b,
        ReductionKind::Add => a.wrapping_add(b),
        ReductionKind::Mul => a.wrapping_mul(b),
        ReductionKind::Max => {
            if is_less {
                b
            } else {
                a
            }
        }
        ReductionKind::Min => {
            if is_less {
                a
            } else {
                b
            }
        }
        ReductionKind::And => a & b,
        ReductionKind::Or => a | b,
        ReductionKind::Xor => a ^ b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combine(dtype: DType, a: &[f64], b: &[f64], by: ReductionKind) -> Vec<f64> {
        let parts = if dtype.class() == DTypeClass::Complex { 2 } else { 1 };
        let array = |values: &[f64]| HostArray::from_f64(dtype, &[values.len() / parts], values).unwrap();
        HostArray::combined(&[&array(a), &array(b)], by).unwrap().to_f64_vec()
    }

    #[test]
    fn elements_combine_as_devices_combine_them() {
        use ReductionKind::{Add, Max, Min, Mul, Or, Xor};
        assert_eq!(combine(DType::F32, &[1.0, -2.0], &[0.5, 2.0], Add), [1.5, 0.0]);
        assert_eq!(combine(DType::C64, &[1.0, 2.0], &[3.0, -1.0], Add), [4.0, 1.0]);
        assert_eq!(combine(DType::C64, &[1.0, 2.0], &[3.0, -1.0], Mul), [5.0, 5.0]);
        // Integers wrap around; four-bit integers wrap at four bits.
        assert_eq!(combine(DType::I8, &[100.0, -3.0], &[100.0, 1.0], Add), [-56.0, -2.0]);
        assert_eq!(combine(DType::I4, &[7.0, -8.0], &[1.0, -1.0], Add), [-8.0, 7.0]);
        assert_eq!(combine(DType::UI8, &[200.0], &[100.0], Max), [200.0]);
        assert_eq!(combine(DType::I8, &[-1.0], &[1.0], Min), [-1.0]);
        assert_eq!(combine(DType::I1, &[1.0, 0.0], &[1.0, 1.0], Add), [1.0, 1.0]);
        assert_eq!(combine(DType::I1, &[1.0, 0.0], &[0.0, 0.0], Or), [1.0, 0.0]);
        assert_eq!(combine(DType::I32, &[6.0], &[3.0], Xor), [5.0]);
        assert!(combine(DType::F32, &[f64::NAN], &[1.0], Max)[0].is_nan());
    }

    #[test]
    fn neutral_elements_change_nothing() {
        let array = HostArray::random(3, DType::C64, &[4]).unwrap();
        for by in [ReductionKind::Add, ReductionKind::Mul] {
            let nothing = HostArray::neutral(DType::C64, &[4], by).unwrap().unwrap();
            assert_eq!(HostArray::combined(&[&array, &nothing], by).unwrap(), array);
        }
    }

    #[test]
    fn arrays_of_other_shapes_do_not_combine() {
        let array = |n| HostArray::zeros(DType::F32, &[n]).unwrap();
        assert!(HostArray::combined(&[&array(2), &array(3)], ReductionKind::Add).is_err());
        assert!(HostArray::combined(&[], ReductionKind::Add).is_err());
    }
}
