//! A buffer with the primitives of the format.

use std::borrow::Cow;

/// The padding byte of aligned data.
const PADDING: u8 = 0xCB;

/// The minimum size of bytes that are borrowed until the file is complete. Smaller ones are copied at once.
const LARGE: usize = 1 << 12;

/// Bytes of a section, or of the file.
#[derive(Debug, Default)]
pub(super) struct Bytes<'p> {
    /// The complete parts.
    parts: Vec<Cow<'p, [u8]>>,
    /// The number of bytes in `parts`.
    before: usize,
    /// The last part.
    bytes: Vec<u8>,
    /// The alignment that the contents need.
    alignment: usize,
}

impl<'p> Bytes<'p> {
    /// Returns the bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.parts.is_empty() {
            return self.bytes;
        }
        let mut all = Vec::with_capacity(self.len());
        self.complete();
        self.parts.iter().for_each(|part| all.extend_from_slice(part));
        all
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.before + self.bytes.len()
    }

    /// Begins another part.
    fn complete(&mut self) {
        if !self.bytes.is_empty() {
            self.before += self.bytes.len();
            self.parts.push(Cow::Owned(std::mem::take(&mut self.bytes)));
        }
    }

    /// Appends bytes that outlive the buffer. Many bytes are copied only once, into the complete file.
    pub(super) fn borrowed(&mut self, bytes: &'p [u8]) {
        if bytes.len() < LARGE {
            return self.raw(bytes);
        }
        self.complete();
        self.before += bytes.len();
        self.parts.push(Cow::Borrowed(bytes));
    }

    /// Appends a byte.
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Replaces the byte at an offset in the last part.
    pub(super) fn set(&mut self, at: usize, byte: u8) {
        if let Some(old) = at.checked_sub(self.before).and_then(|at| self.bytes.get_mut(at)) {
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
        let padding = self.len().next_multiple_of(alignment.max(1)) - self.len();
        self.bytes.resize(self.bytes.len() + padding, PADDING);
        self.alignment = self.alignment.max(alignment);
    }

    /// Appends a section.
    pub(super) fn section(&mut self, id: u8, mut contents: Bytes<'p>) {
        let head = self.len();
        self.byte(id);
        self.varint(contents.len() as u64);
        if contents.alignment > 1 {
            if self.len().is_multiple_of(contents.alignment) {
                self.alignment = self.alignment.max(contents.alignment);
            } else {
                self.varint(contents.alignment as u64);
                self.align(contents.alignment);
                self.set(head, id | 0x80);
            }
        }
        if contents.len() < LARGE {
            contents.parts.iter().for_each(|part| self.raw(part));
            return self.raw(&contents.bytes);
        }
        self.complete();
        contents.complete();
        self.before += contents.before;
        self.parts.append(&mut contents.parts);
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
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

    #[test]
    fn sections_are_joined_in_order() {
        let large = vec![7; LARGE];
        let mut inner = Bytes::default();
        inner.byte(1);
        inner.align(8);
        inner.borrowed(&large);
        inner.byte(2);
        let mut out = Bytes::default();
        out.byte(3);
        out.section(4, inner);
        out.byte(5);
        let length = out.len();
        let out = out.finish();
        assert_eq!(out.len(), length);
        let mut cursor = ByteCursor::new(&out, 0);
        assert_eq!(cursor.byte().ok(), Some(3));
        let (id, contents) = cursor.section().expect("a section");
        assert_eq!((id, cursor.byte().ok()), (4, Some(5)));
        let mut contents = contents;
        let contents = contents.bytes(9 + LARGE as u64).expect("the contents");
        assert_eq!((contents.len(), contents[0], contents[8], contents[8 + LARGE]), (9 + LARGE, 1, 7, 2));
    }
}
