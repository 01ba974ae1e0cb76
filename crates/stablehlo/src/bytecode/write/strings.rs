//! The strings of a file.

use rustc_hash::FxHashMap;

use super::bytes::Bytes;

/// The strings of a file, in the order in which they are needed.
#[derive(Default)]
pub(super) struct Strings<'p> {
    numbers: FxHashMap<&'p [u8], u64>,
    all: Vec<&'p [u8]>,
}

impl<'p> Strings<'p> {
    /// Returns the number of a string.
    pub(super) fn number(&mut self, text: &'p [u8]) -> u64 {
        let all = &mut self.all;
        *self.numbers.entry(text).or_insert_with(|| {
            all.push(text);
            all.len() as u64 - 1
        })
    }

    /// Writes the lengths, last string first, and the strings.
    pub(super) fn section(&self) -> Bytes<'p> {
        let mut out = Bytes::default();
        out.varint(self.all.len() as u64);
        for text in self.all.iter().rev() {
            out.varint(text.len() as u64 + 1);
        }
        for text in &self.all {
            out.terminated(text);
        }
        out
    }
}
