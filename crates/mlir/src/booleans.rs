//! Large `i1` constants in text.
//!
//! MLIR prints large constants as a hexadecimal string. For `i1` that string holds one bit per element in
//! LLVM 22 and one byte per element in later versions, each of which refuses the other's. A list of `true` and
//! `false` is read by all.

use std::fmt::Write;

const START: &str = "dense<\"0x";

/// The text with every `i1` constant that is a hexadecimal string spelt out. A string attribute cannot look
/// like one, since MLIR escapes the quotes inside of strings.
pub(crate) fn spell_out(text: String) -> String {
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(START) {
        let after = &rest[at + START.len()..];
        let Some((hex, tail)) = after.split_once('"') else { break };
        let shape =
            tail.strip_prefix("> : tensor<").and_then(|t| t.split_once('>')).and_then(|(t, _)| shape(t));
        match shape.and_then(|shape| list(hex.as_bytes(), &shape)) {
            Some(list) => {
                out.push_str(&rest[..at]);
                let _ = write!(out, "dense<{list}");
            }
            None => out.push_str(&rest[..at + START.len() + hex.len() + 1]),
        }
        rest = tail;
    }
    if out.is_empty() {
        return text;
    }
    out.push_str(rest);
    out
}

/// The sizes in `4x250xi1`; `None` for another element type.
fn shape(text: &str) -> Option<Vec<usize>> {
    let sizes = text.strip_suffix("xi1")?;
    sizes.split('x').map(|n| n.parse().ok()).collect()
}

/// The nested list of the packed bits, the least significant bit of each byte first.
fn list(hex: &[u8], shape: &[usize]) -> Option<String> {
    let count = shape.iter().try_fold(1usize, |all, &n| all.checked_mul(n))?;
    if hex.len() != count.div_ceil(8).checked_mul(2)? {
        return None;
    }
    let mut out = String::new();
    for index in 0..count {
        // A bracket opens or closes wherever an inner dimension begins or ends.
        let mut inner = 1;
        let mut edges = 0;
        for &n in shape.iter().rev() {
            inner *= n;
            edges += usize::from(index % inner == 0);
        }
        if index > 0 {
            let mut inner = 1;
            let closed = shape.iter().rev().filter(|&&n| {
                inner *= n;
                index % inner == 0
            });
            out.extend(closed.map(|_| ']'));
            out.push_str(", ");
        }
        out.extend((0..edges).map(|_| '['));
        let digit = hex.get(index / 8 * 2 + usize::from(index % 8 < 4))?;
        let bits = char::from(*digit).to_digit(16)?;
        out.push_str(if bits >> (index % 4) & 1 == 1 { "true" } else { "false" });
    }
    out.extend(shape.iter().map(|_| ']'));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::spell_out;

    #[test]
    fn only_booleans_are_spelt_out() {
        let text = r#"{value = dense<"0x4902"> : tensor<2x5xi1>}, dense<"0x0102"> : tensor<2xi8>, "a", dense<"0x01"> : tensor<2xi1>"#;
        assert_eq!(
            spell_out(text.to_owned()),
            "{value = dense<[[true, false, false, true, false], [false, true, false, false, true]]> : tensor<2x5xi1>}, \
             dense<\"0x0102\"> : tensor<2xi8>, \"a\", dense<[true, false]> : tensor<2xi1>"
        );
    }

    #[test]
    fn text_without_or_with_broken_constants_stays() {
        for text in [
            "",
            "module {}",
            "dense<\"0x01",
            "dense<\"0xZZ\"> : tensor<3xi1>",
            "dense<\"0x01\"> : tensor<9xi1>",
        ] {
            assert_eq!(spell_out(text.to_owned()), text);
        }
    }
}
