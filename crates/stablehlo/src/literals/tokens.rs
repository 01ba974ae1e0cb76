//! Lists, numbers, strings and names.

use std::fmt::Write as _;

use crate::lexer;

/// Appends `items` separated by commas.
pub(crate) fn push_list<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut String, T),
) {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        push(out, item);
    }
}

/// Appends an integer.
pub(crate) fn push_int(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

/// Appends `[1, 2]`.
pub(crate) fn push_ints<T: std::fmt::Display>(out: &mut String, values: impl IntoIterator<Item = T>) {
    out.push('[');
    push_list(out, values, |out, v| push_int(out, v));
    out.push(']');
}

/// Appends `"text"`.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    lexer::escape(out, text);
    out.push('"');
}

/// Whether `text` is a name that needs no quotes.
pub(crate) fn is_bare(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&b| lexer::is_ident_start(b)) && bytes.iter().all(|&b| lexer::is_ident(b))
}

/// Appends `@name`, quoted if necessary.
pub(crate) fn push_symbol(out: &mut String, name: &str) {
    out.push('@');
    if is_bare(name) { out.push_str(name) } else { push_string(out, name) }
}

/// Appends bytes with the escapes that MLIR writes in string literals.
pub(crate) fn push_escaped(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        lexer::escape(out, chunk.valid());
        for b in chunk.invalid() {
            let _ = write!(out, "\\{b:02X}");
        }
    }
}

/// Appends bytes as hexadecimal digits.
pub(crate) fn push_hex(out: &mut String, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for b in bytes {
        out.push(char::from(HEX[usize::from(b >> 4)]));
        out.push(char::from(HEX[usize::from(b & 15)]));
    }
}
