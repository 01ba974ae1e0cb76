//! Conversion of constants: from bytes to `dense` attributes, without text.

use std::borrow::Cow;

use melior::ir::Attribute;
use shardc_ir::{DType, Dense, Diagnostic, Module, TypeId};

use crate::{attrs::Attrs, ffi};

/// The `dense` attribute of a constant of type `ty`.
pub(crate) fn dense<'c>(
    attrs: &mut Attrs<'c>,
    module: &Module,
    value: &Dense,
    ty: TypeId,
) -> Result<Attribute<'c>, Diagnostic> {
    if let Dense::Raw(text) = value {
        return attrs.parse(text);
    }
    let shape = module.types.as_tensor(ty).and_then(|t| Some((t.dtype, t.num_elements()?)));
    let Some((dtype, count)) = shape.and_then(|(dtype, n)| Some((dtype, usize::try_from(n).ok()?))) else {
        return Err(misfit(module, ty, "must be a tensor with a static shape"));
    };
    if count == 0 {
        return attrs.parse(&format!("dense<> : {}", module.types.display(ty)));
    }
    let decoded;
    let (bytes, splat): (&[u8], bool) = match value {
        Dense::Splat(bytes) => (bytes, true),
        Dense::Elements(bytes) => (bytes, false),
        // Raw constants are handled at the start of this function.
        Dense::Raw(_) => return Err(misfit(module, ty, "is in text form, which cannot be lowered")),
        Dense::Resource(key) => {
            decoded = resource(module, key)?;
            (&decoded, false)
        }
    };
    let given = if splat { 1 } else { count };
    if Some(bytes.len()) != given.checked_mul(dtype.bytes()) {
        return Err(misfit(
            module,
            ty,
            &format!("has {} bytes of elements, which does not match the type", bytes.len()),
        ));
    }
    let mlir_type = attrs.ty(module, ty)?;
    let attribute = match dtype {
        // The packing of `i1` buffers differs between versions of MLIR, so values are passed instead.
        DType::I1 if splat => {
            let word = if bytes.iter().any(|&b| b != 0) { "true" } else { "false" };
            Some(attrs.parse(&format!("dense<{word}> : {}", module.types.display(ty)))?)
        }
        DType::I1 => ffi::dense_bool(mlir_type, count, bytes),
        DType::TF32 => {
            return Err(Diagnostic::unsupported(
                "SH0506",
                "cannot lower a constant with the element type tf32",
            )
            .hint("use a constant of f32, and convert it to tf32"));
        }
        _ => ffi::dense_raw(mlir_type, &masked(dtype, bytes)),
    };
    attribute.ok_or_else(|| misfit(module, ty, "does not match its elements"))
}

/// Clears the unused high bits of elements narrower than a byte.
fn masked(dtype: DType, bytes: &[u8]) -> Cow<'_, [u8]> {
    if dtype.bits() >= 8 {
        return Cow::Borrowed(bytes);
    }
    let mask = (1u8 << dtype.bits()) - 1;
    Cow::Owned(bytes.iter().map(|b| b & mask).collect())
}

/// Returns the bytes of a `dense_resource`, which is a hexadecimal blob at the end of the file. Its first four bytes are the alignment.
fn resource(module: &Module, key: &str) -> Result<Vec<u8>, Diagnostic> {
    let bad = |what: &str| Diagnostic::invalid("SH0506", format!("the resource `{key}` {what}"));
    let text = module.resources.as_deref().unwrap_or_default();
    let blob = find_blob(text, key).ok_or_else(|| bad("is not in the file"))?;
    let digits = blob.strip_prefix("0x").ok_or_else(|| bad("is not a hexadecimal blob"))?.as_bytes();
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(hex(*high)? << 4 | hex(*low)?),
            _ => None,
        })
        .collect();
    let mut bytes = bytes.ok_or_else(|| bad("is not a hexadecimal blob"))?;
    if bytes.len() < 4 {
        return Err(bad("is too short"));
    }
    bytes.drain(..4);
    Ok(bytes)
}

/// The string after `key:` or `"key":`.
fn find_blob<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.match_indices(key).find_map(|(at, _)| {
        let quoted = text[..at].ends_with('"');
        let alone = quoted || text[..at].ends_with(|c: char| c.is_whitespace() || c == '{' || c == ',');
        let rest = &text[at + key.len()..];
        let rest = if quoted { rest.strip_prefix('"')? } else { rest };
        let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        alone.then(|| rest.split('"').next()).flatten()
    })
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

fn misfit(module: &Module, ty: TypeId, what: &str) -> Diagnostic {
    Diagnostic::invalid("SH0506", format!("a constant of type {} {what}", module.types.display(ty)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_found_by_their_full_key() {
        let text = r#"{-# dialect_resources: { builtin: { ab: "0x04000000FF", b: "0x040000000102", "c d": "0x0" } } #-}"#;
        assert_eq!(find_blob(text, "b"), Some("0x040000000102"));
        assert_eq!(find_blob(text, "c d"), Some("0x0"));
        assert_eq!(find_blob(text, "d"), None);
        let module = Module { resources: Some(text.into()), ..Module::new() };
        assert_eq!(resource(&module, "b").unwrap(), [1, 2]);
        assert_eq!(resource(&module, "c d").unwrap_err().code, "SH0506");
        assert_eq!(resource(&module, "x").unwrap_err().code, "SH0506");
    }

    #[test]
    fn narrow_elements_lose_their_sign_bits() {
        assert_eq!(*masked(DType::I4, &[0xff, 0x07]), [0x0f, 0x07]);
        assert_eq!(*masked(DType::I8, &[0xff]), [0xff]);
    }
}
