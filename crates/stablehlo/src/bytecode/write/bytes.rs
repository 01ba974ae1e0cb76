//! A buffer with the primitives of the format.

/// The padding byte of aligned data.
const PADDING: u8 = 0xCB;

/// Bytes of a section, or of the file.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    bytes: Vec<u8>,
    /// The alignment that the contents need.
    alignment: usize,
}

impl Bytes {
    /// Returns the bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a byte.
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Replaces the byte at an offset.
    pub(super) fn set(&mut self, at: usize, byte: u8) {
        if let Some(old) = self.bytes.get_mut(at) {
            *old = byte;
        }
    }

    /// Appends bytes.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends bytes and a terminating zero.
    pub(super) fn terminated(&mut self, bytes: &[u8]) {
        self.raw(bytes);
        self.byte(0);
    }

    /// Appends a variable-width integer: the number of trailing zeros of the first byte is the number of bytes that follow it.
    pub(super) fn varint(&mut self, value: u64) {
        let bits = 64 - value.leading_zeros();
        let more = bits.saturating_sub(1) / 7;
        if more >= 8 {
            self.byte(0);
            self.raw(&value.to_le_bytes());
        } else {
            let encoded = (value << 1 | 1) << more;
            self.raw(&encoded.to_le_bytes()[..=more as usize]);
        }
    }

    /// Appends a signed variable-width integer in zigzag encoding.
    pub(super) fn svarint(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63) as u64);
    }

    /// Appends a variable-width integer whose lowest bit is a flag.
    pub(super) fn flagged(&mut self, value: u64, flag: bool) {
        self.varint(value << 1 | u64::from(flag));
    }

    /// Appends padding up to a multiple of `alignment`, a power of two.
    pub(super) fn align(&mut self, alignment: usize) {
        let end = self.bytes.len().next_multiple_of(alignment.max(1));
        self.bytes.resize(end, PADDING);
        self.alignment = self.alignment.max(alignment);
    }

    /// Appends a section.
    pub(super) fn section(&mut self, id: u8, contents: &Bytes) {
        let head = self.bytes.len();
        self.byte(id);
        self.varint(contents.len() as u64);
        if contents.alignment > 1 {
            if self.bytes.len().is_multiple_of(contents.alignment) {
                self.alignment = self.alignment.max(contents.alignment);
            } else {
                self.varint(contents.alignment as u64);
                self.align(contents.alignment);
                self.set(head, id | 0x80);
            }
        }
        self.raw(&contents.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytecode::reader::ByteCursor;

    #[test]
    fn integers_are_read_back() {
        let wide = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in wide.chain([u64::MAX, u64::MAX - 1]) {
            let mut bytes = Bytes::default();
            bytes.varint(value);
            bytes.svarint(value as i64);
            bytes.svarint((value as i64).wrapping_neg());
            let bytes = bytes.finish();
            let mut cursor = ByteCursor::new(&bytes, 0);
            assert_eq!(cursor.varint().ok(), Some(value));
            assert_eq!(cursor.svarint().ok(), Some(value as i64));
            assert_eq!(cursor.svarint().ok(), Some((value as i64).wrapping_neg()));
            assert!(cursor.at_end(), "{value}");
        }
        let mut bytes = Bytes::default();
        bytes.varint(127);
        assert_eq!(bytes.finish(), [0xFF]);
    }
}
