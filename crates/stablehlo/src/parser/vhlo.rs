//! VHLO attributes in text: `#vhlo.dict_v1<{#vhlo.string_v1<"a"> = #vhlo.bool_v1<true>}>`.
//!
//! VHLO attributes are kept as text, and interpreted only in bytecode. The text is checked for two errors: nested attributes of other
//! dialects, and dictionary keys that are not VHLO attributes.

/// Returns the byte offset and description of the first violation of VHLO's rules in text that begins with a VHLO
/// attribute.
pub(super) fn fault(text: &str) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'#' if !text[at..].starts_with("#vhlo") => {
                return Some((at, "a VHLO attribute can contain only VHLO attributes: expected `#vhlo`"));
            }
            b'#' if text[at..].starts_with("#vhlo.dict_v1<{") => {
                at += "#vhlo.dict_v1<{".len();
                at += text[at..].len() - text[at..].trim_start().len();
                if !matches!(bytes.get(at), Some(b'#' | b'}')) {
                    return Some((
                        at,
                        "a key of a VHLO dictionary must be a VHLO attribute: expected `#vhlo`",
                    ));
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Returns the offset after the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn valid_attributes_pass() {
        for text in [
            "#vhlo.dict_v1<{}>",
            "#vhlo.dict_v1<{#vhlo.string_v1<\"a#b\\\"#c\"> = #vhlo.array_v1<[#vhlo.bool_v1<true>]>}>",
            "#vhlo.result_accuracy_v1<atol = 0.0, ulps = 0, mode = #vhlo<result_accuracy_mode_v1 DEFAULT>>",
            "#vhlo.tensor_v1<dense<\"0x01\"> : tensor<1xi8>>",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
    }

    #[test]
    fn faults_have_offsets() {
        let at = |text: &str| fault(text).map(|(at, _)| at);
        assert_eq!(at("#vhlo.dict_v1<{ \"a\" = #vhlo.array_v1<[]>}>"), Some(16));
        assert_eq!(at("#vhlo.array_v1<[#stablehlo.bounds<?>]>"), Some(16));
    }
}
