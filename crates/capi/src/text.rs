//! Bytes that are followed by a NUL byte, so that C can also read them as a string.

/// Bytes of an object.
#[derive(Clone, Debug)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// The bytes, without the NUL byte.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.split_last().map_or(&[], |(_, bytes)| bytes)
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::from(Vec::new())
    }
}

impl From<Vec<u8>> for Text {
    fn from(mut bytes: Vec<u8>) -> Text {
        bytes.push(0);
        Text(bytes)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::from(text.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_do_not_include_the_nul_byte() {
        assert_eq!(Text::default().bytes(), b"");
        let text = Text::from("ab".to_owned());
        assert_eq!(text.bytes(), b"ab");
        assert_eq!(text.0, b"ab\0");
    }
}
