//! Elements of constants: conversion from MLIR's storage format to that of a module.

use shardc_ir::{DType, DTypeClass, Dense};

/// Returns the bytes that one element takes in MLIR's storage format. A `tf32` takes 3 bytes for its 19 bits.
pub(crate) fn stored_bytes(dtype: DType) -> usize {
    if dtype == DType::TF32 { 3 } else { dtype.bytes() }
}

/// Returns the number of significant bits of an element.
pub(crate) fn meant_bits(dtype: DType) -> u32 {
    if dtype == DType::TF32 { 19 } else { dtype.bits() }
}

/// Converts the elements of a constant with the element type `dtype` and the shape `shape` from MLIR's storage format. Returns `None` if
/// the number of bytes is wrong.
pub(crate) fn dense(dtype: DType, shape: &[i64], bytes: &[u8]) -> Option<Dense> {
    let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(usize::try_from(size).ok()?))?;
    if count == 0 && bytes.is_empty() {
        return Some(Dense::elements(Vec::new()));
    }
    let stored = stored_bytes(dtype);
    if dtype == DType::I1 {
        return booleans(count, bytes);
    }
    if bytes.len() == stored && count != 1 {
        return Some(Dense::splat(&element(dtype, bytes)));
    }
    if Some(bytes.len()) != count.checked_mul(stored) {
        return None;
    }
    let first = bytes.get(..stored)?;
    if bytes.chunks_exact(stored).all(|chunk| chunk == first) {
        return Some(Dense::splat(&element(dtype, first)));
    }
    if stored == dtype.bytes() && dtype.bits() >= 8 {
        return Some(Dense::Elements(bytes.into()));
    }
    let elements: Vec<u8> = bytes.chunks_exact(stored).flat_map(|chunk| element(dtype, chunk)).collect();
    // Elements that differed only in insignificant bits are equal now, so the constant may have become a splat.
    let first = elements.get(..dtype.bytes())?;
    if elements.chunks_exact(dtype.bytes()).all(|element| element == first) {
        return Some(Dense::splat(first));
    }
    Some(Dense::elements(elements))
}

/// Returns the bytes of one element. Signed elements narrower than a byte are sign-extended. Other unused bits are zero.
fn element(dtype: DType, stored: &[u8]) -> smallvec::SmallVec<[u8; 16]> {
    let mut bytes = smallvec::SmallVec::from_slice(stored);
    if dtype == DType::TF32
        && let Some(upper) = bytes.get_mut(2)
    {
        *upper &= 7;
    }
    bytes.resize(dtype.bytes(), 0);
    if dtype.bits() < 8
        && let Some(byte) = bytes.first_mut()
    {
        let shift = 8 - dtype.bits();
        let shifted = *byte << shift;
        *byte = match dtype.class() {
            DTypeClass::Signed => ((shifted as i8) >> shift) as u8,
            _ => shifted >> shift,
        };
    }
    bytes
}

/// Converts booleans, which are packed eight to a byte or stored one per byte, depending on the length. A single byte may be a splat.
fn booleans(count: usize, bytes: &[u8]) -> Option<Dense> {
    let unpacked: Vec<u8> = if bytes.len() == count && count != 1 {
        bytes.iter().map(|&b| u8::from(b != 0)).collect()
    } else if let &[only] = bytes {
        match only {
            0 => return Some(Dense::splat(&[0])),
            0xFF => return Some(Dense::splat(&[1])),
            _ if (1..=8).contains(&count) => (0..count).map(|i| only >> i & 1).collect(),
            _ => return Some(Dense::splat(&[1])),
        }
    } else if bytes.len() == count.div_ceil(8) {
        (0..count).map(|i| bytes.get(i / 8).map_or(0, |b| b >> (i % 8) & 1)).collect()
    } else {
        return None;
    };
    let first = *unpacked.first()?;
    if unpacked.iter().all(|&b| b == first) {
        return Some(Dense::splat(&[first]));
    }
    Some(Dense::elements(unpacked))
}
