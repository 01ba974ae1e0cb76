//! A cursor over the bytes of a bytecode file: fixed and variable-width integers, sections, blobs. Every read is checked against the end of
//! the data, and every error contains the byte offset in the file.

use shardc_ir::Diagnostic;

use crate::codes;
use crate::lexer::{Failure, Res};

/// The section kinds, indexed by section ID.
pub(crate) mod section {
    /// Strings.
    pub(crate) const STRING: u8 = 0;
    /// Names of dialects and operations.
    pub(crate) const DIALECT: u8 = 1;
    /// Attributes and types.
    pub(crate) const ATTR_TYPE: u8 = 2;
    /// The offsets of attributes and types.
    pub(crate) const ATTR_TYPE_OFFSET: u8 = 3;
    /// Operations.
    pub(crate) const IR: u8 = 4;
    /// Resources.
    pub(crate) const RESOURCE: u8 = 5;
    /// The offsets of resources.
    pub(crate) const RESOURCE_OFFSET: u8 = 6;
    /// The version of a dialect.
    pub(crate) const DIALECT_VERSIONS: u8 = 7;
    /// Inherent attributes of operations.
    pub(crate) const PROPERTIES: u8 = 8;
    /// The number of section kinds.
    pub(crate) const COUNT: usize = 9;

    /// Returns the name of a section kind, for messages.
    pub(crate) fn name(id: u8) -> &'static str {
        match id {
            STRING => "string",
            DIALECT => "dialect",
            ATTR_TYPE => "attribute and type",
            ATTR_TYPE_OFFSET => "attribute and type offset",
            IR => "operation",
            RESOURCE => "resource",
            RESOURCE_OFFSET => "resource offset",
            DIALECT_VERSIONS => "dialect version",
            PROPERTIES => "property",
            _ => "unknown",
        }
    }
}

/// A cursor: a position in `bytes`, which are a part of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCursor<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The offset of `bytes` in the file.
    base: usize,
}

impl<'b> ByteCursor<'b> {
    /// Returns a cursor at the start of `bytes`, which begin at byte `base` of the file.
    pub(crate) fn new(bytes: &'b [u8], base: usize) -> Self {
        ByteCursor { bytes, at: 0, base }
    }

    /// Returns the offset in the file.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// Returns the number of remaining bytes.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Whether no bytes remain.
    pub(crate) fn at_end(&self) -> bool {
        self.left() == 0
    }

    /// Returns the error for data at the cursor that does not follow the format.
    pub(crate) fn malformed(&self, what: impl AsRef<str>) -> Failure {
        malformed_at(self.offset(), what)
    }

    /// Returns the error for bytes that end too early.
    fn truncated(&self, what: &str) -> Failure {
        let message = format!(
            "the bytecode ends too early: expected {what} at byte {}, but {} left there",
            self.offset(),
            match self.left() {
                0 => "nothing is".to_owned(),
                1 => "1 byte is".to_owned(),
                n => format!("{n} bytes are"),
            }
        );
        Diagnostic::invalid(codes::TRUNCATED, message).into()
    }

    /// Checks that no bytes remain.
    pub(crate) fn end(&self, of: &str) -> Res<()> {
        if self.at_end() {
            return Ok(());
        }
        Err(self.malformed(format!("expected the end of {of}, found {} more bytes", self.left())))
    }

    /// Reads one byte.
    pub(crate) fn byte(&mut self) -> Res<u8> {
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.truncated("a byte")) };
        self.at += 1;
        Ok(byte)
    }

    /// Reads a byte that is 0 or 1.
    pub(crate) fn bool(&mut self) -> Res<bool> {
        Ok(self.byte()? != 0)
    }

    /// Reads the next `count` bytes.
    pub(crate) fn bytes(&mut self, count: u64) -> Res<&'b [u8]> {
        let range = usize::try_from(count)
            .ok()
            .and_then(|count| self.at.checked_add(count))
            .and_then(|end| Some((self.bytes.get(self.at..end)?, end)));
        let Some((bytes, end)) = range else { return Err(self.truncated(&format!("{count} bytes"))) };
        self.at = end;
        Ok(bytes)
    }

    /// Returns a cursor over the next `count` bytes, and skips them.
    pub(crate) fn part(&mut self, count: u64) -> Res<ByteCursor<'b>> {
        let base = self.offset();
        Ok(ByteCursor::new(self.bytes(count)?, base))
    }

    /// Reads a variable-width integer: the number of trailing zeros of the first byte is the number of bytes that
    /// follow it.
    pub(crate) fn varint(&mut self) -> Res<u64> {
        let first = self.byte()?;
        if first & 1 == 1 {
            return Ok(u64::from(first >> 1));
        }
        let more = first.trailing_zeros().min(8);
        let rest = self.bytes(u64::from(more))?;
        let mut wide = [0; 8];
        // A first byte of zero contains no bits of the number: all 64 bits follow.
        if more == 8 {
            wide.copy_from_slice(rest);
            return Ok(u64::from_le_bytes(wide));
        }
        wide[0] = first;
        for (to, from) in wide.iter_mut().skip(1).zip(rest) {
            *to = *from;
        }
        Ok(u64::from_le_bytes(wide) >> (more + 1))
    }

    /// Reads a signed variable-width integer in zigzag encoding.
    pub(crate) fn svarint(&mut self) -> Res<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a variable-width integer whose lowest bit is a flag.
    pub(crate) fn flagged(&mut self) -> Res<(u64, bool)> {
        let value = self.varint()?;
        Ok((value >> 1, value & 1 == 1))
    }

    /// Reads the number of items that follow, each of at least one byte. A number larger than the remaining bytes is an error, so that an
    /// invalid number does not cause a large allocation.
    pub(crate) fn count(&mut self, what: &str) -> Res<usize> {
        let start = *self;
        let count = self.varint()?;
        start.counted(count, self.left(), what)
    }

    /// Reads the number of items that follow, as [`ByteCursor::count`] does. The lowest bit of the encoded number is a flag.
    pub(crate) fn flagged_count(&mut self, what: &str) -> Res<(usize, bool)> {
        let start = *self;
        let (count, flag) = self.flagged()?;
        Ok((start.counted(count, self.left(), what)?, flag))
    }

    fn counted(&self, count: u64, left: usize, what: &str) -> Res<usize> {
        match usize::try_from(count) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(self.malformed(format!("expected {count} {what}, but only {left} bytes follow"))),
        }
    }

    /// Reads an index below `limit`.
    pub(crate) fn index(&mut self, limit: usize, what: &str) -> Res<u32> {
        let start = *self;
        let value = self.varint()?;
        start.indexed(value, limit, what)
    }

    /// Checks that `value`, read at the cursor, is an index below `limit`.
    pub(crate) fn indexed(&self, value: u64, limit: usize, what: &str) -> Res<u32> {
        match u32::try_from(value) {
            Ok(index) if (index as usize) < limit => Ok(index),
            _ => {
                Err(self
                    .malformed(format!("expected the index of {what} to be below {limit}, found {value}")))
            }
        }
    }

    /// Reads the bytes up to a zero, and skips the zero.
    pub(crate) fn until_zero(&mut self) -> Res<&'b [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let Some(length) = rest.iter().position(|&b| b == 0) else {
            return Err(self.truncated("text that ends with a zero byte"));
        };
        self.at += length + 1;
        Ok(rest.get(..length).unwrap_or(&[]))
    }

    /// Reads a section: its kind and its contents.
    pub(crate) fn section(&mut self) -> Res<(u8, ByteCursor<'b>)> {
        let start = *self;
        let head = self.byte()?;
        let id = head & 0x7F;
        if usize::from(id) >= section::COUNT {
            return Err(start.malformed(format!("expected a kind of section from 0 to 8, found {id}")));
        }
        let length = self.varint()?;
        if head & 0x80 != 0 {
            let place = *self;
            let alignment = self.varint()?;
            if !alignment.is_power_of_two() {
                let message = format!("expected an alignment that is a power of two, found {alignment}");
                return Err(place.malformed(message));
            }
            self.align(alignment)?;
        }
        Ok((id, self.part(length)?))
    }

    /// Skips padding up to a multiple of `alignment` in the file.
    pub(crate) fn align(&mut self, alignment: u64) -> Res<()> {
        let offset = self.offset() as u64;
        let padding = (alignment - offset % alignment.max(1)) % alignment.max(1);
        self.bytes(padding).map(drop)
    }
}

/// Returns the error for data at byte `offset` that does not follow the format.
pub(crate) fn malformed_at(offset: usize, what: impl AsRef<str>) -> Failure {
    let message = format!("malformed bytecode at byte {offset}: {}", what.as_ref());
    Diagnostic::invalid(codes::MALFORMED, message).into()
}
