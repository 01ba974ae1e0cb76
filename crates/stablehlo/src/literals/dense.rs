//! `dense<...> : type` constants.

use shardc_ir::{DType, DTypeClass, Dense, Module, QuantStorage, TensorType, TypeId, floats};

use super::elements::stored_bytes;
use super::tokens::{is_bare, push_hex, push_int, push_string};

/// The maximum number of elements that are written as a list. Larger constants are written as a hexadecimal string.
pub(crate) const MAX_LISTED: usize = 100;

/// The maximum rank of a constant that is written as a list. Constants of higher rank are written as a hexadecimal string.
pub(crate) const MAX_RANK: usize = 64;

/// Appends the constant and its type.
pub(crate) fn push(out: &mut String, module: &Module, dense: &Dense, ty: Option<TypeId>) {
    let quantized = ty.and_then(|ty| module.types.as_quantized(ty));
    let tensor = ty.and_then(|ty| module.types.as_tensor(ty));
    let dtype = match quantized {
        Some(tensor) => tensor.element.storage.and_then(QuantStorage::dtype),
        None => tensor.map(|tensor| tensor.dtype),
    };
    let dtype = dtype.unwrap_or(DType::I64);
    let shape = ty.and_then(|ty| module.types.shape_of(ty)).map_or(&[][..], |shape| shape);
    push_value(out, dtype, shape, dense);
    if matches!(dense, Dense::Raw(_)) {
        return;
    }
    if quantized.is_some() {
        push_int(out, format_args!(" : {}", TensorType::new(shape, dtype)));
    } else if let Some(ty) = ty {
        out.push_str(" : ");
        out.push_str(&module.types.display(ty));
    }
}

/// Appends the constant without its type.
pub(crate) fn push_value(out: &mut String, dtype: DType, shape: &[i64], dense: &Dense) {
    match dense {
        Dense::Raw(text) => {
            out.push_str(text);
            return;
        }
        Dense::Resource(key) => {
            out.push_str("dense_resource<");
            if is_bare(key) { out.push_str(key) } else { push_string(out, key) }
        }
        Dense::Splat(bytes) => {
            out.push_str("dense<");
            push_element(out, dtype, bytes);
        }
        Dense::Elements(bytes) => {
            out.push_str("dense<");
            if is_hex(dtype, shape, bytes) {
                push_bytes(out, dtype, bytes)
            } else {
                push_listed(out, dtype, shape, bytes)
            }
        }
    }
    out.push('>');
}

/// Whether the elements are written as a hexadecimal string.
pub(crate) fn is_hex(dtype: DType, shape: &[i64], bytes: &[u8]) -> bool {
    bytes.len() / dtype.bytes() > MAX_LISTED || shape.len() > MAX_RANK
}

/// Appends the elements as nested lists.
pub(crate) fn push_listed(out: &mut String, dtype: DType, shape: &[i64], bytes: &[u8]) {
    if !bytes.is_empty() {
        push_nested(out, dtype, shape, bytes);
    }
}

fn push_bytes(out: &mut String, dtype: DType, bytes: &[u8]) {
    out.reserve(bytes.len() * 2 + 4);
    out.push_str("\"0x");
    let stored = stored_bytes(dtype);
    for element in bytes.chunks(dtype.bytes()) {
        push_hex(out, &element[..stored.min(element.len())]);
    }
    out.push('"');
}

fn push_nested(out: &mut String, dtype: DType, shape: &[i64], bytes: &[u8]) {
    let Some((&size, inner)) = shape.split_first() else {
        push_element(out, dtype, bytes);
        return;
    };
    out.push('[');
    let stride = bytes.len().checked_div(usize::try_from(size).unwrap_or(0)).unwrap_or(0);
    if stride > 0 {
        for (i, part) in bytes.chunks_exact(stride).enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            push_nested(out, dtype, inner, part);
        }
    }
    out.push(']');
}

fn wide(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let length = bytes.len().min(8);
    wide[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(wide)
}

fn push_element(out: &mut String, dtype: DType, bytes: &[u8]) {
    match dtype.class() {
        DTypeClass::Bool => {
            out.push_str(if bytes.first().is_some_and(|&b| b != 0) { "true" } else { "false" })
        }
        DTypeClass::Unsigned => push_int(out, wide(bytes)),
        DTypeClass::Signed => {
            let shift = 64 - 8 * bytes.len().clamp(1, 8) as u32;
            push_int(out, ((wide(bytes) << shift) as i64) >> shift);
        }
        DTypeClass::Float => floats::push(out, dtype, wide(bytes)),
        DTypeClass::Complex => {
            let (part, half) = if dtype == DType::C64 { (DType::F32, 4) } else { (DType::F64, 8) };
            let (real, imaginary) = bytes.split_at(half.min(bytes.len()));
            out.push('(');
            floats::push(out, part, wide(real));
            out.push(',');
            floats::push(out, part, wide(imaginary));
            out.push(')');
        }
    }
}
