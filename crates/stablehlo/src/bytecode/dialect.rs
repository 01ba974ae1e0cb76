//! The bytecode encodings of attributes and types: a table of decoding functions, with one entry per dialect that has its own encoding.
//! Attributes and types of other dialects are encoded as text.

use crate::lexer::Res;

use super::attr::{AttrRef, BAttr, BType, TypeRef, Words};
use super::reader::ByteCursor;
use super::{builtin, chlo, quant, sdy, stablehlo, vhlo};

/// The decoding functions of a dialect.
pub(crate) struct DialectReader {
    /// The name of the dialect.
    pub(crate) name: &'static str,
    /// Decodes an attribute.
    pub(crate) attr: for<'c, 'b> fn(&mut DialectCursor<'c, 'b>) -> Res<BAttr<'b>>,
    /// Decodes a type.
    pub(crate) ty: for<'c, 'b> fn(&mut DialectCursor<'c, 'b>) -> Res<BType<'b>>,
}

/// The dialects that have their own encoding.
const DIALECTS: &[DialectReader] =
    &[builtin::DIALECT, stablehlo::DIALECT, chlo::DIALECT, quant::DIALECT, sdy::DIALECT, vhlo::DIALECT];

/// Returns the entry of a dialect in the dialect table.
pub(crate) fn reader_of(name: &str) -> Option<&'static DialectReader> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

/// The widest integer that is supported.
const MAX_WIDTH: u32 = 1 << 16;

/// A cursor over one attribute or type, with the tables to which it refers.
#[derive(Debug)]
pub(crate) struct DialectCursor<'c, 'b> {
    /// The bytes of the entry.
    pub(crate) cursor: ByteCursor<'b>,
    /// The strings of the file.
    pub(crate) strings: &'c [&'b [u8]],
    /// The keys of the dialect resources of the file.
    pub(crate) resources: &'c [&'b [u8]],
    /// The types decoded so far; all types while attributes are decoded.
    pub(crate) types: &'c [BType<'b>],
    /// The number of attributes and of types in the file.
    pub(crate) counts: (usize, usize),
}

impl<'b> DialectCursor<'_, 'b> {
    /// Reads an unsigned integer.
    pub(crate) fn varint(&mut self) -> Res<u64> {
        self.cursor.varint()
    }

    /// Reads a signed integer.
    pub(crate) fn svarint(&mut self) -> Res<i64> {
        self.cursor.svarint()
    }

    /// Reads a byte as a flag.
    pub(crate) fn bool(&mut self) -> Res<bool> {
        self.cursor.bool()
    }

    /// Reads a list of signed integers, preceded by its length.
    pub(crate) fn svarints(&mut self) -> Res<Vec<i64>> {
        self.list("integers", Self::svarint)
    }

    /// Reads a list, preceded by its length.
    pub(crate) fn list<T>(&mut self, what: &str, mut item: impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        let count = self.cursor.count(what)?;
        (0..count).map(|_| item(self)).collect()
    }

    /// Reads a reference to an attribute.
    pub(crate) fn attr(&mut self) -> Res<AttrRef> {
        self.cursor.index(self.counts.0, "an attribute").map(AttrRef)
    }

    /// Reads a reference to an attribute that may be absent.
    pub(crate) fn opt_attr(&mut self) -> Res<Option<AttrRef>> {
        let place = self.cursor;
        let (value, present) = self.cursor.flagged()?;
        if !present {
            return Ok(None);
        }
        place.indexed(value, self.counts.0, "an attribute").map(|at| Some(AttrRef(at)))
    }

    /// Reads a list of attributes.
    pub(crate) fn attrs(&mut self) -> Res<Vec<AttrRef>> {
        self.list("attributes", Self::attr)
    }

    /// Reads a reference to a type.
    pub(crate) fn ty(&mut self) -> Res<TypeRef> {
        self.cursor.index(self.counts.1, "a type").map(TypeRef)
    }

    /// Reads a list of types.
    pub(crate) fn tys(&mut self) -> Res<Vec<TypeRef>> {
        self.list("types", Self::ty)
    }

    /// Reads a string of the string section.
    pub(crate) fn string(&mut self) -> Res<&'b [u8]> {
        let at = self.cursor.index(self.strings.len(), "a string")?;
        Ok(self.strings.get(at as usize).copied().unwrap_or(&[]))
    }

    /// Reads the key of a dialect resource.
    pub(crate) fn resource(&mut self) -> Res<&'b [u8]> {
        let at = self.cursor.index(self.resources.len(), "a resource")?;
        Ok(self.resources.get(at as usize).copied().unwrap_or(&[]))
    }

    /// Reads bytes, preceded by their number.
    pub(crate) fn blob(&mut self) -> Res<&'b [u8]> {
        let size = self.cursor.varint()?;
        self.cursor.bytes(size)
    }

    /// Reads the bits of an integer or float of known width. Trailing zero words may be missing.
    pub(crate) fn words(&mut self, width: u32) -> Res<Words> {
        let mut words = Words::new();
        match width {
            0 => {
                // A number of width 0 also takes one byte.
                self.cursor.byte()?;
                words.push(0);
            }
            1..=8 => words.push(u64::from(self.cursor.byte()?) & (u64::MAX >> (64 - width))),
            9..=64 => words.push(self.cursor.svarint()? as u64 & (u64::MAX >> (64 - width))),
            _ => {
                let place = self.cursor;
                let count = self.cursor.count("words")?;
                if count > width.div_ceil(64) as usize || width > MAX_WIDTH {
                    let message = format!("expected a number of at most {} bits", width.min(MAX_WIDTH));
                    return Err(place.malformed(message));
                }
                for _ in 0..count {
                    words.push(self.cursor.svarint()? as u64);
                }
            }
        }
        Ok(words)
    }

    /// Returns the type at an index.
    pub(crate) fn type_at(&self, at: super::attr::TypeRef) -> &BType<'b> {
        self.types.get(at.0 as usize).unwrap_or(&BType::None)
    }

    /// Returns the error for an unknown code of an attribute or type.
    pub(crate) fn unknown<T>(&self, what: &str, code: u64) -> Res<T> {
        Err(self.cursor.malformed(format!("expected the code of {what}, found {code}")))
    }
}
