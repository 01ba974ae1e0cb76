//! CRC-32C, computed with the processor's CRC instructions.

use crc_fast::{CrcAlgorithm, Digest};

/// Returns the CRC-32C of bytes.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// A checksum that is updated incrementally.
pub(crate) struct Crc32c(Digest);

impl Crc32c {
    pub(crate) fn new() -> Crc32c {
        Crc32c(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn value(&self) -> u32 {
        // The library returns 32-bit and 64-bit checksums as `u64`.
        u32::try_from(self.0.finalize()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_equals_the_standard() {
        // Test vector of RFC 3720, section B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        let mut pieces = Crc32c::new();
        [&b"12"[..], b"", b"3456", b"789"].iter().for_each(|piece| pieces.update(piece));
        assert_eq!(pieces.value(), 0xe306_9283);
        assert_eq!(Crc32c::new().value(), crc32c(b""));
    }
}
