//! Blocks of arrays: the elements of a sharded array that one device holds.

use shardc_ir::{BinaryOp, DType, DTypeClass, ReductionKind};

use crate::array::{Array, Data, Dims, count};
use crate::error::Fault;
use crate::kernels;
use crate::numbers::{Complex, Domain, Dual, DualField, Exact, Field, Number};

impl<D: Domain> Array<D> {
    /// The block with these `sizes` that begins at `offsets`. Elements beyond the end of the array have the value `padding`.
    ///
    /// # Errors
    /// The offsets or sizes have another rank, or the block does not fit in memory.
    pub fn block(&self, offsets: &[usize], sizes: &[usize], padding: f64) -> Result<Self, Fault> {
        if offsets.len() != self.rank() || sizes.len() != self.rank() {
            return Fault::invalid("a block of another rank than the array");
        }
        let edge = |n: usize| i64::try_from(n).map_err(|_| Fault::Memory(u64::MAX));
        let mut low = Vec::with_capacity(self.rank());
        let mut high = Vec::with_capacity(self.rank());
        for ((&dim, &offset), &size) in self.dims().iter().zip(offsets).zip(sizes) {
            // A block that contains only padding begins at the end of the array.
            let offset = edge(offset.min(dim))?;
            low.push(-offset);
            high.push(offset + edge(size)? - edge(dim)?);
        }
        let interior = vec![0; self.rank()];
        let padding = Array::full(Dims::new(), self.dtype(), padding)?;
        kernels::moves::pad(self, &padding, &low, &high, &interior)
    }

    /// Combines two arrays element by element, as devices combine partial results.
    ///
    /// # Errors
    /// The shapes or element types differ, or the reduction is not defined on the elements.
    pub fn combined(&self, other: &Self, by: ReductionKind) -> Result<Self, Fault> {
        let is_bool = self.dtype().class() == DTypeClass::Bool;
        let op = match by {
            ReductionKind::Add if is_bool => BinaryOp::Or,
            ReductionKind::Mul if is_bool => BinaryOp::And,
            _ => by.op(),
        };
        kernels::elementwise::binary(op, self, other, 0)
    }

    /// An array of identity elements of a reduction, with the shape and element type of this one. A reduction without an identity that every
    /// element type has, such as the maximum, combines an element with itself: then it is a copy.
    ///
    /// # Errors
    /// The array does not fit in memory.
    pub fn identity(&self, by: ReductionKind) -> Result<Self, Fault> {
        let value = match by {
            ReductionKind::Add | ReductionKind::Xor => 0.0,
            ReductionKind::Mul => 1.0,
            ReductionKind::Max | ReductionKind::Min | ReductionKind::And | ReductionKind::Or => {
                return Ok(self.clone());
            }
        };
        Array::full(Dims::from_slice(self.dims()), self.dtype(), value)
    }

    /// The positions in row-major order at which two arrays of the same shape and element type differ; `None` for other arrays. A NaN differs
    /// from itself.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Option<Vec<usize>> {
        fn positions<T: PartialEq>(a: &[T], b: &[T]) -> Vec<usize> {
            a.iter().zip(b).enumerate().filter(|(_, (x, y))| x != y).map(|(at, _)| at).collect()
        }
        use Data as A;
        if self.dims() != other.dims() || self.dtype() != other.dtype() {
            return None;
        }
        Some(match (self.data(), other.data()) {
            (A::Bool(a), A::Bool(b)) => positions(a, b),
            (A::I8(a), A::I8(b)) => positions(a, b),
            (A::I16(a), A::I16(b)) => positions(a, b),
            (A::I32(a), A::I32(b)) => positions(a, b),
            (A::I64(a), A::I64(b)) => positions(a, b),
            (A::U8(a), A::U8(b)) => positions(a, b),
            (A::U16(a), A::U16(b)) => positions(a, b),
            (A::U32(a), A::U32(b)) => positions(a, b),
            (A::U64(a), A::U64(b)) => positions(a, b),
            (A::F32(a), A::F32(b)) => positions(a, b),
            (A::F64(a), A::F64(b)) => positions(a, b),
            (A::C64(a), A::C64(b)) => positions(a, b),
            (A::C128(a), A::C128(b)) => positions(a, b),
            _ => return None,
        })
    }
}

impl Array<Exact> {
    /// An array of uniform random elements of the field; `None` unless `dtype` is a float or complex type.
    ///
    /// # Errors
    /// The array does not fit in memory.
    pub fn random(dims: &[usize], dtype: DType, seed: u64) -> Result<Option<Self>, Fault> {
        let dims = Dims::from_slice(dims);
        let len = count(&dims)? as u64;
        let reals = || (0..len).map(|i| Field::random(seed, i)).collect::<Vec<_>>();
        let pairs = || {
            let pair = |i: u64| Complex::new(Field::random(seed, 2 * i), Field::random(seed, 2 * i + 1));
            (0..len).map(pair).collect::<Vec<_>>()
        };
        let data = match (dtype.class(), dtype) {
            (DTypeClass::Float, DType::F64) => Data::F64(reals()),
            (DTypeClass::Float, _) => Data::F32(reals()),
            (DTypeClass::Complex, DType::C128) => Data::C128(pairs()),
            (DTypeClass::Complex, _) => Data::C64(pairs()),
            (DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned, _) => return Ok(None),
        };
        Array::new(dims, dtype, data).map(Some)
    }
}

impl Array<Dual> {
    /// The array with these values and tangents; without tangents, a constant. Integers have no tangents.
    ///
    /// # Errors
    /// The values and the tangents have different shapes or types.
    pub fn dual(values: &Array<Exact>, tangents: Option<&Array<Exact>>) -> Result<Self, Fault> {
        fn joined<const WIDE: bool>(values: &[Field], tangents: Option<&[Field]>) -> Vec<DualField<WIDE>> {
            let tangent = |at: usize| tangents.and_then(|list| list.get(at).copied()).unwrap_or_default();
            let one = |(at, &value)| DualField { value, tangent: tangent(at), is_unknown: false };
            values.iter().enumerate().map(one).collect()
        }
        fn pairs<const WIDE: bool>(
            values: &[Complex<Field>],
            tangents: Option<&[Complex<Field>]>,
        ) -> Vec<Complex<DualField<WIDE>>> {
            let part = |of: fn(&Complex<Field>) -> Field| {
                let list = |numbers: &[Complex<Field>]| numbers.iter().map(of).collect::<Vec<_>>();
                joined(&list(values), tangents.map(list).as_deref())
            };
            part(|z| z.re).into_iter().zip(part(|z| z.im)).map(|(re, im)| Complex::new(re, im)).collect()
        }
        if tangents.is_some_and(|own| own.dims() != values.dims() || own.dtype() != values.dtype()) {
            return Fault::invalid("tangents of another type");
        }
        let own = tangents.map(Array::data);
        let data = match values.data() {
            Data::Bool(v) => Data::Bool(v.clone()),
            Data::I8(v) => Data::I8(v.clone()),
            Data::I16(v) => Data::I16(v.clone()),
            Data::I32(v) => Data::I32(v.clone()),
            Data::I64(v) => Data::I64(v.clone()),
            Data::U8(v) => Data::U8(v.clone()),
            Data::U16(v) => Data::U16(v.clone()),
            Data::U32(v) => Data::U32(v.clone()),
            Data::U64(v) => Data::U64(v.clone()),
            Data::F32(v) => Data::F32(joined(
                v,
                own.and_then(|own| if let Data::F32(t) = own { Some(&t[..]) } else { None }),
            )),
            Data::F64(v) => Data::F64(joined(
                v,
                own.and_then(|own| if let Data::F64(t) = own { Some(&t[..]) } else { None }),
            )),
            Data::C64(v) => Data::C64(pairs(
                v,
                own.and_then(|own| if let Data::C64(t) = own { Some(&t[..]) } else { None }),
            )),
            Data::C128(v) => Data::C128(pairs(
                v,
                own.and_then(|own| if let Data::C128(t) = own { Some(&t[..]) } else { None }),
            )),
        };
        Array::new(Dims::from_slice(values.dims()), values.dtype(), data)
    }

    /// The value and the tangent of the only element; `None` unless it is one real number whose tangent is known.
    #[must_use]
    pub fn derivative(&self) -> Option<(Field, Field)> {
        let found = match self.data() {
            Data::F32(v) => v.as_slice().first().map(|x| (x.value, x.tangent, x.is_unknown)),
            Data::F64(v) => v.as_slice().first().map(|x| (x.value, x.tangent, x.is_unknown)),
            _ => None,
        };
        found.filter(|found| self.len() == 1 && !found.2).map(|(value, tangent, _)| (value, tangent))
    }
}

impl Array<Exact> {
    /// The derivative along a direction whose gradient is `self`: the sum of the products of the elements. Complex gradients follow the
    /// convention of JAX, the real part of the sum of products without a conjugate. `None` for arrays of different or integer types.
    #[must_use]
    pub fn along(&self, direction: &Self) -> Option<Field> {
        let real = |a: &[Field], b: &[Field]| {
            a.iter().zip(b).fold(Field::default(), |sum, (&a, &b)| sum.plus_product(a, b))
        };
        let complex = |a: &[Complex<Field>], b: &[Complex<Field>]| {
            a.iter().zip(b).fold(Field::default(), |sum, (&a, &b)| sum.plus(a.times(b).re))
        };
        if self.dims() != direction.dims() {
            return None;
        }
        match (self.data(), direction.data()) {
            (Data::F32(a), Data::F32(b)) => Some(real(a, b)),
            (Data::F64(a), Data::F64(b)) => Some(real(a, b)),
            (Data::C64(a), Data::C64(b)) => Some(complex(a, b)),
            (Data::C128(a), Data::C128(b)) => Some(complex(a, b)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::DType;

    use super::*;
    use crate::numbers::Ieee;

    fn array(dims: &[usize], values: &[f32]) -> Array<Ieee> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Array::from_bytes(dims, DType::F32, &bytes).unwrap()
    }

    #[test]
    fn blocks_are_padded() {
        let x = array(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(x.block(&[0, 0], &[2, 2], 7.0).unwrap().to_f64_vec(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(x.block(&[2, 1], &[2, 1], 7.0).unwrap().to_f64_vec(), [6.0, 7.0]);
        // A whole block may be beyond the end.
        assert_eq!(x.block(&[4, 0], &[2, 1], 7.0).unwrap().to_f64_vec(), [7.0, 7.0]);
        assert!(x.block(&[0], &[2], 7.0).is_err());
    }

    #[test]
    fn partial_results_are_combined() {
        let (a, b) = (array(&[2], &[1.0, 5.0]), array(&[2], &[3.0, 4.0]));
        let combined = |by| a.combined(&b, by).unwrap().to_f64_vec();
        assert_eq!(combined(ReductionKind::Add), [4.0, 9.0]);
        assert_eq!(combined(ReductionKind::Mul), [3.0, 20.0]);
        assert_eq!(combined(ReductionKind::Max), [3.0, 5.0]);
        for by in [ReductionKind::Add, ReductionKind::Mul, ReductionKind::Min] {
            assert!(a.combined(&a.identity(by).unwrap(), by).unwrap().equals(&a));
        }
    }

    #[test]
    fn random_elements_depend_on_the_seed() {
        let random = |seed| Array::random(&[2, 8], DType::BF16, seed).unwrap().unwrap();
        assert_eq!(random(1).differences(&random(1)), Some(Vec::new()));
        assert_eq!(random(1).differences(&random(2)).unwrap().len(), 16);
        assert!(Array::random(&[2], DType::C64, 0).unwrap().is_some());
        assert!(Array::random(&[2], DType::I32, 0).unwrap().is_none());
    }

    #[test]
    fn differences_are_positions() {
        let (a, b) = (array(&[3], &[1.0, 5.0, 2.0]), array(&[3], &[1.0, 4.0, 3.0]));
        assert_eq!(a.differences(&b), Some(vec![1, 2]));
        assert_eq!(a.differences(&a), Some(Vec::new()));
        assert_eq!(a.differences(&array(&[2], &[1.0, 5.0])), None);
    }
}
