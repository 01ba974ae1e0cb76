//! The elements of an array: one vector for each kind of element.

use shardc_ir::{DType, DTypeClass};

use crate::error::Fault;
use crate::numbers::{Complex, Domain, Integer, Real};

/// Elements in row-major order. Integers narrower than 8 bits are stored in 8 bits, and floats narrower than `f32` as `f32`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the element types")]
pub enum Data<D: Domain> {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<D::Single>),
    F64(Vec<D::Double>),
    C64(Vec<Complex<D::Single>>),
    C128(Vec<Complex<D::Double>>),
}

/// The variants of [`Data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the element types")]
pub(crate) enum Storage {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    C64,
    C128,
}

/// Evaluates an expression with the vector of any variant.
macro_rules! each {
    ($data:expr, $v:ident => $body:expr) => {{
        use $crate::array::Data as Any;
        match $data {
            Any::Bool($v) => $body,
            Any::I8($v) => $body,
            Any::I16($v) => $body,
            Any::I32($v) => $body,
            Any::I64($v) => $body,
            Any::U8($v) => $body,
            Any::U16($v) => $body,
            Any::U32($v) => $body,
            Any::U64($v) => $body,
            Any::F32($v) => $body,
            Any::F64($v) => $body,
            Any::C64($v) => $body,
            Any::C128($v) => $body,
        }
    }};
}

/// Evaluates an expression with the vector of any variant; its value is the vector of a result of the same variant.
macro_rules! map {
    ($data:expr, $v:ident => $body:expr) => {{
        use $crate::array::Data as Any;
        match $data {
            Any::Bool($v) => Any::Bool($body),
            Any::I8($v) => Any::I8($body),
            Any::I16($v) => Any::I16($body),
            Any::I32($v) => Any::I32($body),
            Any::I64($v) => Any::I64($body),
            Any::U8($v) => Any::U8($body),
            Any::U16($v) => Any::U16($body),
            Any::U32($v) => Any::U32($body),
            Any::U64($v) => Any::U64($body),
            Any::F32($v) => Any::F32($body),
            Any::F64($v) => Any::F64($body),
            Any::C64($v) => Any::C64($body),
            Any::C128($v) => Any::C128($body),
        }
    }};
}

/// Like [`map`], with the vectors of two operands of the same variant.
macro_rules! zip {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $body:expr) => {{
        use $crate::array::Data as Any;
        match ($a, $b) {
            (Any::Bool($x), Any::Bool($y)) => Any::Bool($body),
            (Any::I8($x), Any::I8($y)) => Any::I8($body),
            (Any::I16($x), Any::I16($y)) => Any::I16($body),
            (Any::I32($x), Any::I32($y)) => Any::I32($body),
            (Any::I64($x), Any::I64($y)) => Any::I64($body),
            (Any::U8($x), Any::U8($y)) => Any::U8($body),
            (Any::U16($x), Any::U16($y)) => Any::U16($body),
            (Any::U32($x), Any::U32($y)) => Any::U32($body),
            (Any::U64($x), Any::U64($y)) => Any::U64($body),
            (Any::F32($x), Any::F32($y)) => Any::F32($body),
            (Any::F64($x), Any::F64($y)) => Any::F64($body),
            (Any::C64($x), Any::C64($y)) => Any::C64($body),
            (Any::C128($x), Any::C128($y)) => Any::C128($body),
            _ => return $crate::error::Fault::invalid("operands have different element types"),
        }
    }};
}

/// Evaluates an expression with the vectors of two operands of the same variant.
macro_rules! both {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $body:expr) => {{
        use $crate::array::Data as Any;
        match ($a, $b) {
            (Any::Bool($x), Any::Bool($y)) => $body,
            (Any::I8($x), Any::I8($y)) => $body,
            (Any::I16($x), Any::I16($y)) => $body,
            (Any::I32($x), Any::I32($y)) => $body,
            (Any::I64($x), Any::I64($y)) => $body,
            (Any::U8($x), Any::U8($y)) => $body,
            (Any::U16($x), Any::U16($y)) => $body,
            (Any::U32($x), Any::U32($y)) => $body,
            (Any::U64($x), Any::U64($y)) => $body,
            (Any::F32($x), Any::F32($y)) => $body,
            (Any::F64($x), Any::F64($y)) => $body,
            (Any::C64($x), Any::C64($y)) => $body,
            (Any::C128($x), Any::C128($y)) => $body,
            _ => return $crate::error::Fault::invalid("operands have different element types"),
        }
    }};
}

pub(crate) use {both, each, map, zip};

/// The variant that stores elements of this type.
pub(crate) fn storage(dtype: DType) -> Storage {
    use DType as D;
    match dtype {
        D::I1 => Storage::Bool,
        D::I2 | D::I4 | D::I8 => Storage::I8,
        D::I16 => Storage::I16,
        D::I32 => Storage::I32,
        D::I64 | D::Index => Storage::I64,
        D::UI2 | D::UI4 | D::UI8 => Storage::U8,
        D::UI16 => Storage::U16,
        D::UI32 => Storage::U32,
        D::UI64 => Storage::U64,
        D::F64 => Storage::F64,
        D::C64 => Storage::C64,
        D::C128 => Storage::C128,
        D::F4E2M1FN | D::F6E2M3FN | D::F6E3M2FN | D::F8E3M4 | D::F8E4M3 | D::F8E4M3B11FNUZ => Storage::F32,
        D::F8E4M3FN | D::F8E4M3FNUZ | D::F8E5M2 | D::F8E5M2FNUZ | D::F8E8M0FNU => Storage::F32,
        D::BF16 | D::F16 | D::TF32 | D::F32 => Storage::F32,
    }
}

/// Appends `count` copies of the elements `from`, failing instead of aborting without memory.
fn repeat<T: Copy>(from: &[T], count: usize) -> Result<Vec<T>, Fault> {
    let mut out = reserve(from.len().saturating_mul(count))?;
    match *from {
        [one] => out.resize(count, one),
        _ => (0..count).for_each(|_| out.extend_from_slice(from)),
    }
    Ok(out)
}

/// An empty vector with room for `len` elements.
pub(crate) fn reserve<T>(len: usize) -> Result<Vec<T>, Fault> {
    let mut out = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>()) as u64;
    out.try_reserve_exact(len).map_err(|_| Fault::Memory(bytes))?;
    Ok(out)
}

impl<D: Domain> Data<D> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn storage(&self) -> Storage {
        match self {
            Data::Bool(_) => Storage::Bool,
            Data::I8(_) => Storage::I8,
            Data::I16(_) => Storage::I16,
            Data::I32(_) => Storage::I32,
            Data::I64(_) => Storage::I64,
            Data::U8(_) => Storage::U8,
            Data::U16(_) => Storage::U16,
            Data::U32(_) => Storage::U32,
            Data::U64(_) => Storage::U64,
            Data::F32(_) => Storage::F32,
            Data::F64(_) => Storage::F64,
            Data::C64(_) => Storage::C64,
            Data::C128(_) => Storage::C128,
        }
    }

    /// The elements, `count` times.
    pub(crate) fn repeated(&self, count: usize) -> Result<Self, Fault> {
        Ok(map!(self, v => repeat(v, count)?))
    }

    /// The elements at these positions.
    pub(crate) fn taken(&self, positions: &[usize]) -> Self {
        map!(self, v => positions.iter().map(|&at| v[at]).collect())
    }

    /// Wraps or rounds elements to a type that is narrower than its storage.
    pub(crate) fn fit(&mut self, dtype: DType) {
        let unused = 8u32.saturating_sub(dtype.bits());
        match self {
            Data::I8(v) if unused > 0 => v.iter_mut().for_each(|x| *x = (*x << unused) >> unused),
            Data::U8(v) if unused > 0 => v.iter_mut().for_each(|x| *x = (*x << unused) >> unused),
            Data::F32(v) => D::Single::fit(dtype, v),
            Data::F64(v) => D::Double::fit(dtype, v),
            _ => {}
        }
    }

    /// The integers as elements of an integer, boolean or float type.
    pub(crate) fn from_integers(dtype: DType, values: &[i64]) -> Result<Self, Fault> {
        fn all<T: Integer>(values: &[i64]) -> Vec<T> {
            values.iter().map(|&value| T::truncate(i128::from(value))).collect()
        }
        fn floats<T: Real>(values: &[i64]) -> Vec<T> {
            values.iter().map(|&value| T::from_integer(i128::from(value))).collect()
        }
        let complex = |re| Complex::new(re, D::Single::default());
        let wide_complex = |re| Complex::new(re, D::Double::default());
        Ok(match storage(dtype) {
            Storage::Bool => Data::Bool(all(values)),
            Storage::I8 => Data::I8(all(values)),
            Storage::I16 => Data::I16(all(values)),
            Storage::I32 => Data::I32(all(values)),
            Storage::I64 => Data::I64(all(values)),
            Storage::U8 => Data::U8(all(values)),
            Storage::U16 => Data::U16(all(values)),
            Storage::U32 => Data::U32(all(values)),
            Storage::U64 => Data::U64(all(values)),
            Storage::F32 => Data::F32(floats(values)),
            Storage::F64 => Data::F64(floats(values)),
            Storage::C64 => Data::C64(floats(values).into_iter().map(complex).collect()),
            Storage::C128 => Data::C128(floats(values).into_iter().map(wide_complex).collect()),
        })
    }

    /// The numbers as elements of any type; integers are rounded toward zero.
    pub(crate) fn from_numbers(dtype: DType, values: &[f64]) -> Result<Self, Fault> {
        fn all<T: Real>(values: &[f64]) -> Vec<T> {
            values.iter().map(|&value| T::from_f64(value)).collect()
        }
        let single = || all::<D::Single>(values);
        let double = || all::<D::Double>(values);
        Ok(match dtype.class() {
            DTypeClass::Float if dtype == DType::F64 => Data::F64(double()),
            DTypeClass::Float => Data::F32(single()),
            DTypeClass::Complex if dtype == DType::C128 => {
                Data::C128(double().into_iter().map(|re| Complex::new(re, D::Double::default())).collect())
            }
            DTypeClass::Complex => {
                Data::C64(single().into_iter().map(|re| Complex::new(re, D::Single::default())).collect())
            }
            DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned => {
                let words: Vec<i64> = values.iter().map(|&value| value as i64).collect();
                return Data::from_integers(dtype, &words);
            }
        })
    }

    /// The elements as integers; `None` for floats and complex numbers. Unsigned integers of 64 bits are reinterpreted.
    pub(crate) fn to_integers(&self) -> Option<Vec<i64>> {
        fn all<T: Integer>(values: &[T]) -> Option<Vec<i64>> {
            Some(values.iter().map(|value| value.extend() as i64).collect())
        }
        match self {
            Data::Bool(v) => all(v),
            Data::I8(v) => all(v),
            Data::I16(v) => all(v),
            Data::I32(v) => all(v),
            Data::I64(v) => all(v),
            Data::U8(v) => all(v),
            Data::U16(v) => all(v),
            Data::U32(v) => all(v),
            Data::U64(v) => all(v),
            Data::F32(_) | Data::F64(_) | Data::C64(_) | Data::C128(_) => None,
        }
    }
}
