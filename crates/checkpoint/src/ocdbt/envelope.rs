//! The frame around manifests and nodes: magic number, length, compression, CRC-32C.

use std::io::Read as _;

use bytes::Bytes;

use super::cursor::Cursor;
use crate::checksum::crc32c;

/// The maximum size of the body of a manifest or node. Orbax permits nodes of 10^8 bytes.
const LARGEST: u64 = 256 << 20;
/// The total size in bytes of the magic number, the length and the checksum.
const FRAME: usize = 4 + 8 + 4;

/// The kind of an encoded object, which determines its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Manifest,
    BtreeNode,
}

impl Kind {
    fn magic(self) -> [u8; 4] {
        match self {
            Kind::Manifest => 0x0cdb_3a2a_u32.to_be_bytes(),
            Kind::BtreeNode => 0x0cdb_20de_u32.to_be_bytes(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Manifest => "a manifest of OCDBT",
            Kind::BtreeNode => "a B+tree node of OCDBT",
        }
    }
}

/// Verifies an encoded object and returns its decompressed body, which may have at most `room` bytes.
pub(super) fn open(encoded: &Bytes, kind: Kind, room: u64) -> Result<Bytes, String> {
    if encoded.len() < FRAME || encoded[..4] != kind.magic() {
        return Err(format!("it is not {}", kind.name()));
    }
    let (content, checksum) = encoded.split_at(encoded.len() - 4);
    let length = content[4..12].iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
    if length != encoded.len() as u64 {
        return Err(format!("it is truncated: it has {} bytes, expected {length}", encoded.len()));
    }
    if crc32c(content).to_le_bytes() != checksum {
        return Err("its checksum does not match".to_owned());
    }
    let mut header = Cursor::new(&content[12..]);
    let (version, compression) = (header.varint()?, header.varint()?);
    if version != 0 {
        return Err(format!("it has format version {version}, but only 0 is supported"));
    }
    let body = encoded.slice(12 + header.position()..content.len());
    let room = room.min(LARGEST);
    match compression {
        0 if body.len() as u64 <= room => Ok(body),
        1 => decompress(&body, room),
        0 => Err(format!("it has more than {room} bytes")),
        other => Err(format!("unknown compression method {other}")),
    }
}

fn decompress(body: &[u8], room: u64) -> Result<Bytes, String> {
    let bad = |error: std::io::Error| format!("its zstd stream is damaged: {error}");
    let mut bytes = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(body).map_err(bad)?;
    decoder.take(room + 1).read_to_end(&mut bytes).map_err(bad)?;
    match bytes.len() as u64 <= room {
        true => Ok(bytes.into()),
        false => Err(format!("it decompresses to more than {room} bytes")),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Encodes a body as an object.
    pub(in crate::ocdbt) fn encode(kind: Kind, body: &[u8], compress: bool) -> Bytes {
        let body = if compress { zstd::encode_all(body, 0).unwrap() } else { body.to_vec() };
        let mut bytes = kind.magic().to_vec();
        bytes.extend((body.len() as u64 + 18).to_le_bytes());
        bytes.extend([0, u8::from(compress)]);
        bytes.extend(body);
        bytes.extend(crc32c(&bytes).to_le_bytes());
        bytes.into()
    }

    #[test]
    fn a_frame_is_checked() {
        for compress in [false, true] {
            let good = encode(Kind::Manifest, b"body", compress);
            assert_eq!(open(&good, Kind::Manifest, 100).unwrap(), "body");
            assert!(open(&good, Kind::BtreeNode, 100).unwrap_err().contains("not a B+tree node"));
            assert!(open(&good, Kind::Manifest, 3).unwrap_err().contains("more than 3 bytes"));
            assert!(
                open(&good.slice(..good.len() - 1), Kind::Manifest, 9).unwrap_err().contains("truncated")
            );
            for at in 0..good.len() {
                let mut bad = good.to_vec();
                bad[at] ^= 0x40;
                assert!(open(&bad.into(), Kind::Manifest, 100).is_err(), "{at}");
            }
        }
        // A compressed stream of zeros is small but expands to a large body.
        let bomb = encode(Kind::BtreeNode, &vec![0; 64 << 20], true);
        assert!(open(&bomb, Kind::BtreeNode, 1 << 20).unwrap_err().contains("more than"));
    }
}
