//! Gathering strided elements of a tensor from a file.

use crate::error::Result;

/// The maximum number of bytes per read if the elements are not contiguous.
const BLOCK: u64 = 4 << 20;
/// The minimum number of contiguous bytes for which a separate read is no slower than also reading the gaps.
const RUN: u64 = 16 << 10;

/// A dimension: its size, and its strides, in elements, in the source and in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dim {
    len: u64,
    from: u64,
    to: u64,
}

impl Dim {
    /// Returns the dimensions of a row-major result, in descending order of source strides. Dimensions that are contiguous in both
    /// source and result are merged.
    pub(crate) fn all(shape: &[usize], strides: &[u64]) -> Vec<Dim> {
        let to = row_major(shape);
        let dims = shape.iter().zip(strides).zip(to).filter(|((len, _), _)| **len != 1);
        let mut dims: Vec<Dim> = dims.map(|((&len, &from), to)| Dim { len: len as u64, from, to }).collect();
        dims.sort_by_key(|dim| std::cmp::Reverse((dim.from, dim.to)));
        let mut merged: Vec<Dim> = Vec::new();
        for dim in dims {
            match merged.last_mut() {
                Some(outer) if outer.from == dim.len * dim.from && outer.to == dim.len * dim.to => {
                    *outer = Dim { len: outer.len * dim.len, ..dim };
                }
                _ => merged.push(dim),
            }
        }
        merged
    }
}

/// Returns the strides of a row-major array, in elements.
pub(crate) fn row_major(shape: &[usize]) -> Vec<u64> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        // The product can overflow only for an array without elements.
        strides[i - 1] = u64::saturating_mul(strides[i], shape[i].max(1) as u64);
    }
    strides
}

/// Returns whether a nonempty tensor is row-major; strides of dimensions of size one are ignored.
pub(crate) fn is_row_major(shape: &[usize], strides: &[u64]) -> bool {
    let want = row_major(shape);
    shape.iter().zip(strides).zip(want).all(|((&n, &have), want)| n == 1 || have == want)
}

/// Reads elements of `size` bytes into a row-major array. `read` reads from the source, in which the first element is at byte `at`.
pub(crate) fn gather(
    dims: &[Dim],
    size: u64,
    at: u64,
    out: &mut [u8],
    read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let mut scratch = Vec::new();
    split(dims, size, at, 0, out, &mut scratch, read)
}

/// Halves the outermost dimension recursively until the rest is contiguous, or small enough to read with its gaps.
fn split(
    dims: &[Dim],
    size: u64,
    at: u64,
    place: u64,
    out: &mut [u8],
    scratch: &mut Vec<u8>,
    read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let span = (dims.iter().map(|dim| (dim.len - 1) * dim.from).sum::<u64>() + 1) * size;
    let run = match dims {
        [] => size,
        [.., Dim { len, from: 1, to: 1 }] => len * size,
        _ => 0,
    };
    if run == span {
        return read(at, &mut out[place as usize..(place + run) as usize]);
    }
    let Some((first, rest)) = dims.split_first() else { return Ok(()) };
    if span <= BLOCK && run < RUN {
        scratch.resize(span as usize, 0);
        read(at, scratch)?;
        scatter(dims, size as usize, scratch, &mut out[place as usize..]);
        return Ok(());
    }
    if first.len == 1 {
        return split(rest, size, at, place, out, scratch, read);
    }
    let half = first.len / 2;
    let mut part = dims.to_vec();
    part[0].len = half;
    split(&part, size, at, place, out, scratch, read)?;
    part[0].len = first.len - half;
    let (at, place) = (at + half * first.from * size, place + half * first.to * size);
    split(&part, size, at, place, out, scratch, read)
}

fn scatter(dims: &[Dim], size: usize, from: &[u8], out: &mut [u8]) {
    match dims {
        [] => out[..size].copy_from_slice(&from[..size]),
        [Dim { len, from: 1, to: 1 }] => {
            let len = *len as usize * size;
            out[..len].copy_from_slice(&from[..len]);
        }
        [dim, rest @ ..] => {
            for i in 0..dim.len {
                let (at, place) = ((i * dim.from) as usize * size, (i * dim.to) as usize * size);
                scatter(rest, size, &from[at..], &mut out[place..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference implementation, element by element.
    fn plain(shape: &[usize], strides: &[u64], source: &[u8], first: u64) -> Vec<u8> {
        let count: usize = shape.iter().product();
        let element = |mut n: usize| {
            let mut at = first;
            for (&len, &stride) in shape.iter().zip(strides).rev() {
                at += (n % len) as u64 * stride;
                n /= len;
            }
            [source[2 * at as usize], source[2 * at as usize + 1]]
        };
        (0..count).flat_map(element).collect()
    }

    proptest! {
        #[test]
        fn elements_come_in_order(
            dims in prop::collection::vec((1usize..6, 0u64..40), 0..4),
            first in 0u64..10,
        ) {
            let (shape, strides): (Vec<usize>, Vec<u64>) = dims.into_iter().unzip();
            let source: Vec<u8> = (0..4000u32).flat_map(|n| (n as u16).to_le_bytes()).collect();
            let want = plain(&shape, &strides, &source, first);
            let mut out = vec![0; want.len()];
            gather(&Dim::all(&shape, &strides), 2, 2 * first, &mut out, &mut |at, out| {
                out.copy_from_slice(&source[at as usize..][..out.len()]);
                Ok(())
            }).unwrap();
            prop_assert_eq!(out, want);
        }
    }

    /// Gathers from a source in which each byte is the low byte of its offset. Returns the offset and length of each read, and the result.
    fn reads(shape: &[usize], strides: &[u64], size: u64) -> (Vec<(u64, usize)>, Vec<u8>) {
        let mut reads = Vec::new();
        let mut out = vec![0; shape.iter().product::<usize>() * size as usize];
        gather(&Dim::all(shape, strides), size, 0, &mut out, &mut |at, out| {
            reads.push((at, out.len()));
            out.iter_mut().enumerate().for_each(|(i, byte)| *byte = (at as usize + i) as u8);
            Ok(())
        })
        .unwrap();
        (reads, out)
    }

    #[test]
    fn large_sources_are_read_in_parts() {
        // Rows of a matrix need only one read.
        assert_eq!(reads(&[1000, 4096], &[4096, 1], 4).0, [(0, 16_384_000)]);
        // Half of each long row needs one read per row, which omits the other half.
        let (rows, _) = reads(&[8, 8192], &[16384, 1], 4);
        assert_eq!(rows.len(), 8);
        assert!(rows.iter().all(|&(_, len)| len == 32768));
        // For a few columns of short rows, gaps are also read, some megabytes at a time.
        let (columns, out) = reads(&[100_000, 2], &[100, 1], 1);
        assert!(columns.len() <= 4 && columns.iter().all(|&(_, len)| len as u64 <= BLOCK), "{columns:?}");
        assert_eq!(out[4..6], [200, 201]);
        // A transposed matrix is read once, not once for each row.
        let (transposed, out) = reads(&[2048, 4096], &[1, 2048], 1);
        assert_eq!(transposed.iter().map(|&(_, len)| len).sum::<usize>(), 2048 * 4096);
        assert_eq!((out[1], out[4096]), (0, 1));
    }
}
