//! Matrix products of row-major matrices.

use crate::array::reserve;
use crate::error::Fault;
use crate::numbers::Number;

/// Columns of a block of the right matrix.
const COLUMNS: usize = 512;
/// Rows of a block of the right matrix: a block of `f32` takes 256 KiB, which fits in the second-level cache.
const ROWS: usize = 128;
/// With fewer columns, rows are multiplied as vectors instead of blocks.
const FEW: usize = 8;

/// Sizes of a product of an `m` by `k` matrix with a `k` by `n` matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

/// Returns the products of `batch` pairs of matrices.
pub(crate) fn batched<T: Number>(a: &[T], b: &[T], batch: usize, sizes: Sizes) -> Result<Vec<T>, Fault> {
    let Sizes { m, k, n } = sizes;
    let mut out = reserve(batch.saturating_mul(m).saturating_mul(n))?;
    out.resize(batch * m * n, T::default());
    for index in 0..batch {
        let left = &a[index * m * k..(index + 1) * m * k];
        let right = &b[index * k * n..(index + 1) * k * n];
        add_product(left, right, &mut out[index * m * n..(index + 1) * m * n], sizes);
    }
    Ok(out)
}

/// Adds the product of two matrices to `out`.
fn add_product<T: Number>(a: &[T], b: &[T], out: &mut [T], Sizes { m, k, n }: Sizes) {
    if k == 0 || n == 0 {
        return;
    }
    if n < FEW {
        let columns: Vec<T> = (0..n).flat_map(|j| (0..k).map(move |i| b[i * n + j])).collect();
        for (row, out) in a.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
            for (column, out) in columns.chunks_exact(k).zip(out) {
                *out = dot(*out, row, column);
            }
        }
        return;
    }
    for first_column in (0..n).step_by(COLUMNS) {
        let columns = first_column..(first_column + COLUMNS).min(n);
        for first_row in (0..k).step_by(ROWS) {
            let rows = first_row..(first_row + ROWS).min(k);
            for i in 0..m {
                let factors = &a[i * k + rows.start..i * k + rows.end];
                let out = &mut out[i * n + columns.start..i * n + columns.end];
                let row =
                    |r: usize| &b[(first_row + r) * n + columns.start..(first_row + r) * n + columns.end];
                let (fours, rest) = factors.as_chunks::<4>();
                for (at, &four) in fours.iter().enumerate() {
                    add_rows(out, four, [row(4 * at), row(4 * at + 1), row(4 * at + 2), row(4 * at + 3)]);
                }
                for (at, &factor) in rest.iter().enumerate() {
                    for (out, &value) in out.iter_mut().zip(row(4 * fours.len() + at)) {
                        *out = out.plus_product(factor, value);
                    }
                }
            }
        }
    }
}

/// Adds multiples of four rows to a row, so that the row is loaded and stored once.
fn add_rows<T: Number>(out: &mut [T], factors: [T; 4], rows: [&[T]; 4]) {
    let [a, b, c, d] = rows;
    for ((((out, &a), &b), &c), &d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        let half = out.plus_product(factors[0], a).plus_product(factors[1], b);
        *out = half.plus_product(factors[2], c).plus_product(factors[3], d);
    }
}

/// `start` plus the scalar product of two vectors.
fn dot<T: Number>(start: T, a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(start, |sum, (&x, &y)| sum.plus_product(x, y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_product() {
        for sizes in [Sizes { m: 3, k: 131, n: 520 }, Sizes { m: 4, k: 7, n: 3 }, Sizes { m: 2, k: 0, n: 9 }]
        {
            let Sizes { m, k, n } = sizes;
            let a: Vec<i64> = (0..m * k).map(|i| i as i64 % 13 - 6).collect();
            let b: Vec<i64> = (0..k * n).map(|i| i as i64 % 7 - 3).collect();
            let product = batched(&a, &b, 1, sizes).unwrap();
            for i in 0..m {
                for j in 0..n {
                    let want: i64 = (0..k).map(|r| a[i * k + r] * b[r * n + j]).sum();
                    assert_eq!(product[i * n + j], want);
                }
            }
        }
    }
}
