//! Cholesky factors and triangular systems of the last two dimensions.

use shardc_ir::{Transposition, TriangularSpec, UnaryOp};

use super::moves::transpose;
use crate::array::{Array, Data, Dims};
use crate::error::Fault;
use crate::numbers::{Complex, Domain, Number, Real};

/// Elements of a matrix.
trait Entry: Number {
    fn conjugated(self) -> Self;
    fn root(self, key: u64) -> Self;
}

impl<T: Real> Entry for T {
    fn conjugated(self) -> Self {
        self
    }

    fn root(self, key: u64) -> Self {
        T::unary(UnaryOp::Sqrt, &[self], key).and_then(|root| root.first().copied()).unwrap_or_default()
    }
}

impl<T: Real> Entry for Complex<T> {
    fn conjugated(self) -> Self {
        self.conjugate()
    }

    fn root(self, key: u64) -> Self {
        Complex::new(self.re.root(key), T::default())
    }
}

/// Evaluates an expression with the vector of a float or complex variant.
macro_rules! entries {
    ($data:expr, $name:literal, $v:ident => $body:expr) => {
        match $data {
            Data::F32($v) => Data::F32($body),
            Data::F64($v) => Data::F64($body),
            Data::C64($v) => Data::C64($body),
            Data::C128($v) => Data::C128($body),
            _ => return Fault::unsupported(concat!($name, " of integers")),
        }
    };
}

/// The sizes of the matrices, which are square.
fn square<D: Domain>(a: &Array<D>) -> Result<usize, Fault> {
    match *a.dims() {
        [.., rows, columns] if rows == columns => Ok(rows),
        _ => Fault::invalid("a matrix that is not square"),
    }
}

/// Cholesky factors; only the given triangle is read, and the other triangle of the result is zero.
pub(crate) fn cholesky<D: Domain>(a: &Array<D>, lower: bool, key: u64) -> Result<Array<D>, Fault> {
    let n = square(a)?;
    let data = entries!(a.data(), "stablehlo.cholesky", v => {
        let mut out = vec![crate::array::zero(v); v.len()];
        for (from, to) in v.chunks_exact((n * n).max(1)).zip(out.chunks_exact_mut((n * n).max(1))) {
            factor(from, to, n, lower, key);
        }
        out
    });
    Array::fitted(Dims::from_slice(a.dims()), a.dtype(), data)
}

fn factor<T: Entry>(a: &[T], out: &mut [T], n: usize, lower: bool, key: u64) {
    // Positions of the lower factor; an upper factor is its conjugate transpose.
    let at = |i: usize, j: usize| if lower { i * n + j } else { j * n + i };
    let read = |value: T| if lower { value } else { value.conjugated() };
    for j in 0..n {
        let sum = (0..j).fold(T::default(), |sum, k| {
            let l = read(out[at(j, k)]);
            sum.plus_product(l, l.conjugated())
        });
        let diagonal = a[at(j, j)].minus(sum).root(key);
        out[at(j, j)] = diagonal;
        for i in j + 1..n {
            let sum = (0..j).fold(T::default(), |sum, k| {
                sum.plus_product(read(out[at(i, k)]), read(out[at(j, k)]).conjugated())
            });
            let value = read(a[at(i, j)]).minus(sum).over(diagonal);
            out[at(i, j)] = read(value);
        }
    }
}

/// Solves triangular systems.
pub(crate) fn triangular_solve<D: Domain>(
    a: &Array<D>,
    b: &Array<D>,
    spec: &TriangularSpec,
) -> Result<Array<D>, Fault> {
    let n = square(a)?;
    let rank = b.rank();
    let swapped: Vec<usize> = (0..rank.saturating_sub(2)).chain([rank - 1, rank - 2]).collect();
    // `x a = b` is `a^T x^T = b^T`.
    let (right, transposed) = match spec.left_side {
        true => (b.clone(), spec.transpose_a != Transposition::None),
        false => (transpose(b, &swapped)?, spec.transpose_a == Transposition::None),
    };
    let columns = right.dims().last().copied().unwrap_or(0);
    if rank < 2 || right.dims()[rank - 2] != n {
        return Fault::invalid("a right-hand side of another size");
    }
    let conjugate = spec.transpose_a == Transposition::Adjoint;
    let is_lower = spec.lower != transposed;
    let shape = Shape { n, columns, transposed, conjugate, is_lower, unit: spec.unit_diagonal };
    let data = solve_all(a, &right, &shape)?;
    let result = Array::fitted(Dims::from_slice(right.dims()), b.dtype(), data)?;
    if spec.left_side { Ok(result) } else { transpose(&result, &swapped) }
}

/// How the triangle of a system is read.
struct Shape {
    n: usize,
    columns: usize,
    transposed: bool,
    conjugate: bool,
    is_lower: bool,
    unit: bool,
}

fn solve_all<D: Domain>(a: &Array<D>, b: &Array<D>, shape: &Shape) -> Result<Data<D>, Fault> {
    fn batches<T: Entry>(a: &[T], b: &[T], shape: &Shape) -> Vec<T> {
        let mut out = b.to_vec();
        let (matrix, right) = ((shape.n * shape.n).max(1), (shape.n * shape.columns).max(1));
        for (a, x) in a.chunks_exact(matrix).zip(out.chunks_exact_mut(right)) {
            solve(a, x, shape);
        }
        out
    }
    Ok(match (a.data(), b.data()) {
        (Data::F32(a), Data::F32(b)) => Data::F32(batches(a, b, shape)),
        (Data::F64(a), Data::F64(b)) => Data::F64(batches(a, b, shape)),
        (Data::C64(a), Data::C64(b)) => Data::C64(batches(a, b, shape)),
        (Data::C128(a), Data::C128(b)) => Data::C128(batches(a, b, shape)),
        _ => return Fault::unsupported("stablehlo.triangular_solve of integers"),
    })
}

/// Substitution, forward for lower triangles and backward for upper ones.
fn solve<T: Entry>(a: &[T], x: &mut [T], shape: &Shape) {
    let Shape { n, columns, transposed, conjugate, is_lower, unit } = *shape;
    let read = |i: usize, j: usize| {
        let value = if transposed { a[j * n + i] } else { a[i * n + j] };
        if conjugate { value.conjugated() } else { value }
    };
    for step in 0..n {
        let i = if is_lower { step } else { n - 1 - step };
        for c in 0..columns {
            let mut value = x[i * columns + c];
            let known = if is_lower { 0..i } else { i + 1..n };
            for j in known {
                value = value.minus(read(i, j).times(x[j * columns + c]));
            }
            x[i * columns + c] = if unit { value } else { value.over(read(i, i)) };
        }
    }
}
