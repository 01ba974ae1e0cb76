//! Bit casts.

use shardc_ir::DType;

use crate::array::{Array, Data, Dims};
use crate::error::Fault;
use crate::kernels::moves;
use crate::numbers::Domain;

/// Reinterprets the bits of elements. If the widths differ, a last dimension is added or removed; its first element has the lowest bits.
pub(crate) fn bitcast<D: Domain>(a: &Array<D>, dtype: DType) -> Result<Array<D>, Fault> {
    if a.dtype() == dtype {
        return Ok(a.clone());
    }
    let (from, to) = (a.dtype().bits(), dtype.bits());
    let dims = Dims::from_slice(a.dims());
    let mut words = words(a)?;
    if from == to {
        return result(dims, dtype, words);
    }
    if from > to {
        let parts = (from / to) as usize;
        let mut dims = dims;
        dims.push(parts);
        words = words
            .iter()
            .flat_map(|&word| (0..parts as u32).map(move |part| low(word >> (part * to), to)))
            .collect();
        return result(dims, dtype, words);
    }
    let parts = (to / from) as usize;
    let mut dims = dims;
    if dims.pop() != Some(parts) {
        return Fault::invalid(format!("the last dimension is not {parts}"));
    }
    words = words
        .chunks_exact(parts)
        .map(|chunk| chunk.iter().rev().fold(0, |word, &part| (word << from) | low(part, from)))
        .collect();
    result(dims, dtype, words)
}

fn low(word: u128, bits: u32) -> u128 {
    word & (u128::MAX >> (128 - bits.clamp(1, 128)))
}

/// The bits of each element; a complex number has its real part in the low bits.
fn words<D: Domain>(a: &Array<D>) -> Result<Vec<u128>, Fault> {
    if let Some(words) = a.data().to_words(a.dtype()) {
        return Ok(words.into_iter().map(u128::from).collect());
    }
    let width = a.dtype().bytes();
    let bytes = a.to_bytes();
    Ok(bytes
        .chunks_exact(width)
        .map(|bytes| bytes.iter().rev().fold(0, |word, &byte| (word << 8) | u128::from(byte)))
        .collect())
}

fn result<D: Domain>(dims: Dims, dtype: DType, words: Vec<u128>) -> Result<Array<D>, Fault> {
    if let DType::C64 | DType::C128 = dtype {
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(dtype.bytes())).collect();
        // A single element would be repeated to the shape, which has one element too.
        return Array::from_bytes(&dims, dtype, &bytes);
    }
    let words: Vec<u64> = words.into_iter().map(|word| word as u64).collect();
    Array::new(dims, dtype, Data::from_words(dtype, &words)?)
}

/// The rows of an array along its first dimension, each without that dimension.
pub(crate) fn unstacked<D: Domain>(a: &Array<D>, dim: usize, at: usize) -> Result<Array<D>, Fault> {
    let mut sizes = Dims::from_slice(a.dims());
    let mut start: Vec<i64> = sizes.iter().map(|_| 0).collect();
    let (Some(size), Some(first)) = (sizes.get_mut(dim), start.get_mut(dim)) else {
        return Fault::invalid("a slice along a dimension that does not exist");
    };
    (*size, *first) = (1, at as i64);
    let slice = moves::dynamic_slice(a, &start, &sizes)?;
    sizes.remove(dim);
    slice.reshaped(sizes)
}
