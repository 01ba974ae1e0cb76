//! Discrete Fourier transforms of the last dimensions.

use std::f64::consts::PI;

use shardc_ir::{DType, FftKind};

use super::moves::{dynamic_slice, transpose};
use crate::array::{Array, Data, Dims};
use crate::error::Fault;
use crate::numbers::{Complex, Domain, Number, Real};

/// Transforms the last dimensions, of which `length` has the sizes.
pub(crate) fn fft<D: Domain>(a: &Array<D>, kind: FftKind, length: &[i64]) -> Result<Array<D>, Fault> {
    let (rank, count) = (a.rank(), length.len());
    if count == 0 || count > rank || length.iter().any(|&n| n < 0) {
        return Fault::invalid("a transform of more dimensions than there are");
    }
    let last = length[count - 1] as usize;
    let dims = rank - count..rank;
    match kind {
        FftKind::Fft | FftKind::Ifft => {
            dims.rev().try_fold(a.clone(), |a, d| along(&a, d, kind == FftKind::Ifft))
        }
        FftKind::Rfft => {
            let complex =
                super::convert::convert(a, if a.dtype() == DType::F64 { DType::C128 } else { DType::C64 })?;
            let all = along(&complex, rank - 1, false)?;
            let half = shortened(&all, last / 2 + 1)?;
            dims.rev().skip(1).try_fold(half, |a, d| along(&a, d, false))
        }
        FftKind::Irfft => {
            let outer = dims.rev().skip(1).try_fold(a.clone(), |a, d| along(&a, d, true))?;
            real(&along(&mirrored(&outer, last)?, rank - 1, true)?)
        }
    }
}

/// The first elements of the last dimension.
fn shortened<D: Domain>(a: &Array<D>, size: usize) -> Result<Array<D>, Fault> {
    let mut sizes = Dims::from_slice(a.dims());
    if let Some(last) = sizes.last_mut() {
        *last = size.min(*last);
    }
    let start: Vec<i64> = sizes.iter().map(|_| 0).collect();
    dynamic_slice(a, &start, &sizes)
}

fn real<D: Domain>(a: &Array<D>) -> Result<Array<D>, Fault> {
    let dims = Dims::from_slice(a.dims());
    match a.data() {
        Data::C64(v) => Array::new(dims, DType::F32, Data::F32(v.iter().map(|z| z.re).collect())),
        Data::C128(v) => Array::new(dims, DType::F64, Data::F64(v.iter().map(|z| z.re).collect())),
        _ => Fault::invalid("an inverse transform of real numbers"),
    }
}

/// The transform of a real signal of this length, of which `a` has the first half: the second half is the conjugate of the first.
fn mirrored<D: Domain>(a: &Array<D>, length: usize) -> Result<Array<D>, Fault> {
    fn rows<T: Real>(values: &[Complex<T>], width: usize, length: usize) -> Vec<Complex<T>> {
        let value = |row: &[Complex<T>], i: usize| {
            let mut z = if i < width { row[i] } else { row[(length - i).min(width - 1)].conjugate() };
            // These elements of the transform of a real signal are real.
            if i == 0 || 2 * i == length {
                z.im = T::default();
            }
            z
        };
        values.chunks_exact(width).flat_map(|row| (0..length).map(move |i| value(row, i))).collect()
    }
    let mut dims = Dims::from_slice(a.dims());
    let Some(last) = dims.last_mut() else { return Fault::invalid("a transform of a scalar") };
    let width = std::mem::replace(last, length);
    if width == 0 || length / 2 + 1 < width {
        return Fault::invalid("an inverse transform of another length");
    }
    match a.data() {
        Data::C64(v) => Array::new(dims, a.dtype(), Data::C64(rows(v, width, length))),
        Data::C128(v) => Array::new(dims, a.dtype(), Data::C128(rows(v, width, length))),
        _ => Fault::invalid("an inverse transform of real numbers"),
    }
}

/// Transforms one dimension of complex numbers.
fn along<D: Domain>(a: &Array<D>, dim: usize, inverse: bool) -> Result<Array<D>, Fault> {
    let order: Vec<usize> = (0..a.rank()).filter(|&d| d != dim).chain([dim]).collect();
    let rows = transpose(a, &order)?;
    let n = a.dims()[dim];
    let data = match rows.data() {
        Data::C64(v) => {
            // Sums of single precision numbers are accumulated in double precision.
            let wide: Vec<Complex<D::Double>> = v.iter().map(|z| z.map(D::widen)).collect();
            let all = lines(&wide, n, inverse);
            Data::C64(all.into_iter().map(|z| z.map(|part| D::narrow(part, DType::F32))).collect())
        }
        Data::C128(v) => Data::C128(lines(v, n, inverse)),
        _ => return Fault::invalid("a transform of numbers that are not complex"),
    };
    let result = Array::new(Dims::from_slice(rows.dims()), a.dtype(), data)?;
    let back: Vec<usize> = (0..dim).chain([a.rank() - 1]).chain(dim..a.rank() - 1).collect();
    transpose(&result, &back)
}

fn lines<T: Real>(values: &[Complex<T>], n: usize, inverse: bool) -> Vec<Complex<T>> {
    if n == 0 {
        return Vec::new();
    }
    let sign = if inverse { 1.0 } else { -1.0 };
    let roots: Vec<Complex<T>> = (0..n).map(|k| root(k, n, sign)).collect();
    let scale = if inverse { T::one().over(T::from_f64(n as f64)) } else { T::one() };
    values.chunks_exact(n).flat_map(|row| transform(row, 1, n, &roots)).map(|z| z.scaled(scale)).collect()
}

/// The root of unity `exp(sign 2 pi i k / n)`; multiples of a quarter turn are exact.
fn root<T: Real>(k: usize, n: usize, sign: f64) -> Complex<T> {
    let (re, im) = match (8 * k) / n {
        _ if (4 * k).is_multiple_of(n) => [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][4 * k / n % 4],
        _ => {
            let (sin, cos) = libm::sincos(2.0 * PI * k as f64 / n as f64);
            (cos, sin)
        }
    };
    Complex::new(T::from_f64(re), T::from_f64(sign * im))
}

/// The transform of every `step`-th element of a row, `n` elements in all: halves are combined as long as their number is even.
fn transform<T: Real>(row: &[Complex<T>], step: usize, n: usize, roots: &[Complex<T>]) -> Vec<Complex<T>> {
    if n == 1 {
        return row.first().copied().into_iter().collect();
    }
    if n.is_multiple_of(2) {
        let even = transform(row, 2 * step, n / 2, roots);
        let odd = transform(&row[step..], 2 * step, n / 2, roots);
        let turned: Vec<Complex<T>> = odd.iter().enumerate().map(|(k, z)| z.times(roots[k * step])).collect();
        let first = even.iter().zip(&turned).map(|(a, b)| a.plus(*b));
        return first.chain(even.iter().zip(&turned).map(|(a, b)| a.minus(*b))).collect();
    }
    (0..n)
        .map(|k| {
            (0..n).fold(Complex::default(), |sum: Complex<T>, j| {
                sum.plus(row[j * step].times(roots[j * k % n * step]))
            })
        })
        .collect()
}
