//! Conversion of element types.
//!
//! Integers are wrapped to narrower integers; floats are rounded toward zero to integers, and saturate. Every nonzero number is true.

use shardc_ir::{DType, DTypeClass};

use crate::array::{Array, Data, Dims, Storage, storage};
use crate::error::Fault;
use crate::numbers::{Complex, Domain, Integer, Real};

/// Converts elements to another type.
pub(crate) fn convert<D: Domain>(a: &Array<D>, dtype: DType) -> Result<Array<D>, Fault> {
    if a.dtype() == dtype {
        return Ok(a.clone());
    }
    let dims = Dims::from_slice(a.dims());
    let data = match a.data() {
        Data::Bool(v) => from_integers(v, dtype),
        Data::I8(v) => from_integers(v, dtype),
        Data::I16(v) => from_integers(v, dtype),
        Data::I32(v) => from_integers(v, dtype),
        Data::I64(v) => from_integers(v, dtype),
        Data::U8(v) => from_integers(v, dtype),
        Data::U16(v) => from_integers(v, dtype),
        Data::U32(v) => from_integers(v, dtype),
        Data::U64(v) => from_integers(v, dtype),
        Data::F32(v) => match storage(dtype) {
            Storage::F32 => Data::F32(v.clone()),
            Storage::F64 => Data::F64(v.iter().map(|&x| D::widen(x)).collect()),
            Storage::C64 => Data::C64(v.iter().map(|&x| Complex::new(x, D::Single::default())).collect()),
            Storage::C128 => {
                Data::C128(v.iter().map(|&x| Complex::new(D::widen(x), D::Double::default())).collect())
            }
            _ => to_integers(v, dtype),
        },
        Data::F64(v) => match storage(dtype) {
            Storage::F64 => Data::F64(v.clone()),
            Storage::F32 => Data::F32(v.iter().map(|&x| D::narrow(x, dtype)).collect()),
            Storage::C128 => Data::C128(v.iter().map(|&x| Complex::new(x, D::Double::default())).collect()),
            Storage::C64 => Data::C64(
                v.iter().map(|&x| Complex::new(D::narrow(x, DType::F32), D::Single::default())).collect(),
            ),
            _ => to_integers(v, dtype),
        },
        Data::C64(v) if dtype == DType::C128 => Data::C128(v.iter().map(|z| z.map(D::widen)).collect()),
        Data::C128(v) if dtype == DType::C64 => {
            Data::C64(v.iter().map(|z| z.map(|part| D::narrow(part, DType::F32))).collect())
        }
        Data::C64(v) => {
            let real = Array::new(dims, DType::F32, Data::F32(v.iter().map(|z| z.re).collect()))?;
            return convert(&real, dtype);
        }
        Data::C128(v) => {
            let real = Array::new(dims, DType::F64, Data::F64(v.iter().map(|z| z.re).collect()))?;
            return convert(&real, dtype);
        }
    };
    Array::fitted(dims, dtype, data)
}

fn from_integers<D: Domain, T: Integer>(values: &[T], dtype: DType) -> Data<D> {
    fn cast<T: Integer, U: Integer>(values: &[T]) -> Vec<U> {
        values.iter().map(|x| U::truncate(x.extend())).collect()
    }
    fn float<T: Integer, R: Real>(values: &[T]) -> Vec<R> {
        values.iter().map(|x| R::from_integer(x.extend())).collect()
    }
    match storage(dtype) {
        Storage::Bool => Data::Bool(values.iter().map(|&x| x != T::default()).collect()),
        Storage::I8 => Data::I8(cast(values)),
        Storage::I16 => Data::I16(cast(values)),
        Storage::I32 => Data::I32(cast(values)),
        Storage::I64 => Data::I64(cast(values)),
        Storage::U8 => Data::U8(cast(values)),
        Storage::U16 => Data::U16(cast(values)),
        Storage::U32 => Data::U32(cast(values)),
        Storage::U64 => Data::U64(cast(values)),
        Storage::F32 => Data::F32(float(values)),
        Storage::F64 => Data::F64(float(values)),
        Storage::C64 => {
            Data::C64(float(values).into_iter().map(|re| Complex::new(re, D::Single::default())).collect())
        }
        Storage::C128 => {
            Data::C128(float(values).into_iter().map(|re| Complex::new(re, D::Double::default())).collect())
        }
    }
}

/// The least and the greatest integer of a type.
pub(crate) fn range(dtype: DType) -> (i128, i128) {
    let bits = dtype.bits();
    match dtype.class() {
        DTypeClass::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    }
}

fn to_integers<D: Domain, R: Real>(values: &[R], dtype: DType) -> Data<D> {
    fn cast<R: Real, T: Integer>(values: &[R], (least, greatest): (i128, i128)) -> Vec<T> {
        values.iter().map(|x| T::truncate(x.to_integer().clamp(least, greatest))).collect()
    }
    let range = range(dtype);
    match storage(dtype) {
        Storage::I8 => Data::I8(cast(values, range)),
        Storage::I16 => Data::I16(cast(values, range)),
        Storage::I32 => Data::I32(cast(values, range)),
        Storage::I64 => Data::I64(cast(values, range)),
        Storage::U8 => Data::U8(cast(values, range)),
        Storage::U16 => Data::U16(cast(values, range)),
        Storage::U32 => Data::U32(cast(values, range)),
        Storage::U64 => Data::U64(cast(values, range)),
        _ => Data::Bool(values.iter().map(|&x| x != R::default()).collect()),
    }
}
