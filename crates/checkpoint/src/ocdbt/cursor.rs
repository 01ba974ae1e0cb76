//! Decodes the fields of manifests and nodes.

/// A reader of the body of a manifest or node. Reading past the end of the body returns an error.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// The number of bytes read so far; `rest` follows these bytes.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes, at: 0 }
    }

    /// Returns the number of bytes that were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (first, rest) = self.rest.split_at_checked(count).ok_or("a node is truncated")?;
        self.rest = rest;
        self.at += count;
        Ok(first)
    }

    pub(super) fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// Reads an unsigned integer in LEB128: base 128, least significant digits first.
    pub(super) fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let digits = u64::from(byte & 0x7f);
            if digits << shift >> shift != digits {
                break;
            }
            value |= digits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("an integer has more than 64 bits".to_owned())
    }

    /// Reads the number of entries of a list. Each entry takes at least one byte, so a number above the count of remaining bytes is an
    /// error.
    pub(super) fn count(&mut self) -> Result<usize, String> {
        let count = self.varint()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(format!("a node has {} bytes left, but {count} entries", self.rest.len())),
        }
    }

    /// Reads `count` integers.
    pub(super) fn varints(&mut self, count: usize) -> Result<Vec<u64>, String> {
        (0..count).map(|_| self.varint()).collect()
    }

    /// Reads `count` integers that are lengths in bytes.
    pub(super) fn lengths(&mut self, count: usize) -> Result<Vec<usize>, String> {
        let length = |n: u64| {
            usize::try_from(n)
                .map_err(|_| format!("a length of {n} bytes is too large for the address space"))
        };
        self.varints(count)?.into_iter().map(length).collect()
    }

    /// Returns an error if the body has unread bytes.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(format!("{left} unexpected bytes follow its last entry")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_within_64_bits() {
        let varint = |bytes: &[u8]| Cursor::new(bytes).varint();
        assert_eq!(varint(&[0]), Ok(0));
        assert_eq!(varint(&[0xe3, 0x03]), Ok(483));
        let mut largest = [0xff; 10];
        largest[9] = 1;
        assert_eq!(varint(&largest), Ok(u64::MAX));
        assert!(varint(&[0xff; 10]).is_err());
        assert!(varint(&[0x80]).is_err());
        assert!(Cursor::new(&[200, 1, 0]).count().is_err());
    }
}
