//! Custom calls of linear algebra libraries: decompositions of batches of matrices.
//!
//! Their results are not unique and not specified. In exact arithmetic, a call is a random function of each element of its batch: equal
//! matrices have equal results, whatever the size of the batch. A triangular system is a function of the matrix and of each right-hand side,
//! because these are independent. In other domains such calls are unknown.

use std::hash::{Hash, Hasher};

use shardc_ir::{Attr, CustomCallSpec, DType, DTypeClass, OpId};

use super::{Device, Stop, Values};
use crate::array::{Array, Data, Dims};
use crate::error::Fault;
use crate::numbers::{Complex, Domain, Mixer, Real};
use crate::value::Value;

/// Targets of XLA's TPU compiler that decompose the matrices in the last two dimensions of their first operand.
const TPU: &[&str] =
    &["Cholesky", "Eigh", "LuDecomposition", "ProductOfElementaryHouseholderReflectors", "Qr"];

/// The number of leading dimensions that are the batch: `num_batch_dims`, if the front end states it; `None` for other targets.
fn batch_dims(spec: &CustomCallSpec, stated: Option<&Attr>, rank: usize) -> Option<usize> {
    let is_lapack = spec.target.starts_with("lapack_") && spec.target.ends_with("_ffi");
    match stated {
        Some(Attr::Str(text)) if is_lapack => text.parse().ok(),
        _ if is_lapack || TPU.contains(&&*spec.target) => rank.checked_sub(2),
        _ => None,
    }
}

/// A number for each element; equal elements have equal numbers.
fn words<D: Domain>(array: &Array<D>) -> Vec<u64> {
    fn reals<T: Real>(list: &[T]) -> Vec<u64> {
        list.iter().map(|x| x.to_bits(DType::F64)).collect()
    }
    fn pairs<T: Real>(list: &[Complex<T>]) -> Vec<u64> {
        list.iter().map(|z| z.re.to_bits(DType::F64) ^ z.im.to_bits(DType::F64).rotate_left(17)).collect()
    }
    match array.data() {
        Data::F32(list) => reals(list),
        Data::F64(list) => reals(list),
        Data::C64(list) => pairs(list),
        Data::C128(list) => pairs(list),
        integers => integers.to_integers().unwrap_or_default().into_iter().map(|word| word as u64).collect(),
    }
}

/// The part of a list that belongs to one element of a batch.
fn part(list: &[u64], batch: usize, at: usize) -> &[u64] {
    let size = list.len() / batch.max(1);
    list.get(at * size..(at + 1) * size).unwrap_or_default()
}

/// The parts of a list that belong to the elements of a batch.
fn part_of(list: &[u64], batch: usize) -> impl Iterator<Item = &[u64]> {
    (0..batch).map(move |at| part(list, batch, at))
}

impl<D: Domain> Device<'_, '_, D> {
    /// The results of a decomposition; `None` if the call is another one, or has no value in this domain.
    pub(super) fn decomposition(
        &self,
        op: OpId,
        spec: &CustomCallSpec,
        operands: &Values<D>,
    ) -> Result<Option<Values<D>>, Stop> {
        if D::random(0, 0).is_none() {
            return Ok(None);
        }
        let data = &self.module.ops[op];
        let arrays: Option<Vec<&Array<D>>> = operands.iter().map(Value::as_array).collect();
        let Some((first, arrays)) = arrays.and_then(|arrays| Some((*arrays.first()?, arrays))) else {
            return Ok(None);
        };
        let stated = data.attrs.frontend().and_then(|attrs| attrs.get("num_batch_dims"));
        let Some(batch) = batch_dims(spec, stated, first.rank()) else { return Ok(None) };
        let Some(sizes) = first.dims().get(..batch) else { return Ok(None) };
        let dims: Vec<Dims> =
            (0..data.results.len()).map(|at| self.static_dims(op, at)).collect::<Result<_, _>>()?;
        let shapes = arrays.iter().map(|array| array.dims()).chain(dims.iter().map(|dims| &dims[..]));
        if !shapes.into_iter().all(|shape| shape.get(..batch) == Some(sizes)) {
            return Ok(None);
        }
        self.charge_static_results(op)?;
        let lists: Vec<Vec<u64>> = arrays.iter().map(|array| words(array)).collect();
        let configuration =
            data.attrs.get("mhlo.backend_config").or_else(|| spec.props.get("backend_config"));
        let function = hashed((&*spec.target, configuration));
        let count: usize = sizes.iter().product();
        let result = |at: usize| -> Result<Value<D>, Stop> {
            let dtype = self.result_dtype(op, at)?;
            let places = match (lists.as_slice(), &dims[at][batch..]) {
                ([matrix, sides], &[rows, columns]) if spec.target.ends_with("trsm_ffi") => {
                    let is_left = !is_right(configuration);
                    lines(function, (part_of(matrix, count), part_of(sides, count)), [rows, columns], is_left)
                }
                (lists, inner) => {
                    let seeds = (0..count).map(|at| {
                        hashed((function, lists.iter().map(|list| part(list, count, at)).collect::<Vec<_>>()))
                    });
                    let size = inner.iter().product::<usize>() as u64;
                    seeds
                        .flat_map(|seed| (0..size).map(move |index| (seed, (at as u64) << 40 | index)))
                        .collect()
                }
            };
            Ok(Value::Array(drawn(&dims[at], dtype, batch, &places)?))
        };
        (0..dims.len()).map(result).collect::<Result<_, _>>().map(Some)
    }
}

fn hashed(value: impl Hash) -> u64 {
    let mut hasher = Mixer::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether the matrix of a triangular system is on the right of the unknown.
fn is_right(configuration: Option<&Attr>) -> bool {
    let Some(Attr::Dict(configuration)) = configuration else { return false };
    matches!(configuration.get("side"), Some(Attr::Int(side, _)) if *side == i64::from(b'R'))
}

/// For each element of the solutions of triangular systems, a seed and an index: the seed depends on the matrix and the right-hand side, which
/// is a column or, if the matrix is on the right, a row.
fn lines<'w>(
    function: u64,
    (matrices, sides): (impl Iterator<Item = &'w [u64]>, impl Iterator<Item = &'w [u64]>),
    [rows, columns]: [usize; 2],
    is_left: bool,
) -> Vec<(u64, u64)> {
    let mut places = Vec::new();
    for (matrix, sides) in matrices.zip(sides) {
        let line = |at: usize| -> Vec<u64> {
            match is_left {
                true => sides.iter().skip(at).step_by(columns).copied().collect(),
                false => part(sides, rows, at).to_vec(),
            }
        };
        let seeds: Vec<u64> = (0..if is_left { columns } else { rows })
            .map(|at| hashed((function, matrix, line(at))))
            .collect();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            places.push(match is_left {
                true => (seeds[column], row as u64),
                false => (seeds[row], column as u64),
            });
        }
    }
    places
}

/// A result whose elements are random and depend on a seed and an index. An integer that is not in a matrix or vector is the number of an
/// error, and zero; others are positions.
fn drawn<D: Domain>(
    dims: &Dims,
    dtype: DType,
    batch: usize,
    places: &[(u64, u64)],
) -> Result<Array<D>, Fault> {
    let unknown = || Fault::Internal("a domain without random functions".to_owned());
    let one = |&(seed, at): &(u64, u64)| D::random(seed, at).ok_or_else(unknown);
    let pair = |&(seed, at): &(u64, u64)| Ok::<_, Fault>((one(&(seed, 2 * at))?, one(&(seed, 2 * at + 1))?));
    let data = match (dtype.class(), dtype) {
        (DTypeClass::Complex, DType::C128) => {
            let element = |place| pair(place).map(|(re, im)| Complex { re: re.1, im: im.1 });
            Data::C128(places.iter().map(element).collect::<Result<_, _>>()?)
        }
        (DTypeClass::Complex, _) => {
            let element = |place| pair(place).map(|(re, im)| Complex { re: re.0, im: im.0 });
            Data::C64(places.iter().map(element).collect::<Result<_, _>>()?)
        }
        (DTypeClass::Float, DType::F64) => {
            Data::F64(places.iter().map(|place| Ok(one(place)?.1)).collect::<Result<_, Fault>>()?)
        }
        (DTypeClass::Float, _) => {
            Data::F32(places.iter().map(|place| Ok(one(place)?.0)).collect::<Result<_, Fault>>()?)
        }
        (DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned, _) => {
            let most = if dims.len() > batch { dims.last().map_or(1, |&size| size as u64) } else { 1 };
            let position = |&(seed, at): &(u64, u64)| (seed.wrapping_add(at) % most.max(1)) as i64;
            return Array::from_integers(
                dims.clone(),
                dtype,
                &places.iter().map(position).collect::<Vec<_>>(),
            );
        }
    };
    Array::new(dims.clone(), dtype, data)
}
