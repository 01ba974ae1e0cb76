//! The encoding of messages between two processes as bytes on a connection.
//!
//! A frame consists of its kind (one byte), the length of its key (four bytes, little-endian), the length of its payload (eight bytes), the
//! key and the payload. Lengths are compared with the limits before anything is allocated.

use std::io::{self, Read, Write};
use std::sync::Arc;

/// The maximum length of a key in bytes.
pub(super) const MAX_KEY: usize = 1024;

const HEAD: usize = 13;

/// The kind of a frame (an encoded message).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A heartbeat: the sender is still running.
    Heartbeat = 0,
    /// The payload is a value, which the receiver takes by its key.
    Data = 1,
    /// A message about a launch or a collective, which the key identifies.
    Collective = 2,
    /// The sender ends normally: nothing more will be sent.
    Goodbye = 3,
    /// Execution failed in the sender; the payload is the reason.
    Failed = 4,
    /// Sets a value in the key-value store of process 0.
    Put = 5,
    /// Looks up a key in the key-value store of process 0.
    Get = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        const ALL: [Kind; 7] = [
            Kind::Heartbeat,
            Kind::Data,
            Kind::Collective,
            Kind::Goodbye,
            Kind::Failed,
            Kind::Put,
            Kind::Get,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(super) kind: Kind,
    pub(super) key: Vec<u8>,
    pub(super) payload: Arc<Vec<u8>>,
}

impl Frame {
    pub(super) fn new(kind: Kind, key: &[u8], payload: Vec<u8>) -> Frame {
        Frame { kind, key: key.to_vec(), payload: Arc::new(payload) }
    }

    /// Writes the frame; the key must not exceed [`MAX_KEY`].
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = Vec::with_capacity(HEAD + self.key.len());
        head.push(self.kind as u8);
        head.extend_from_slice(&(self.key.len() as u32).to_le_bytes());
        head.extend_from_slice(&(self.payload.len() as u64).to_le_bytes());
        head.extend_from_slice(&self.key);
        to.write_all(&head)?;
        to.write_all(&self.payload)?;
        to.flush()
    }

    /// Reads a frame whose payload has at most `max` bytes.
    pub(super) fn read(from: &mut impl Read, max: usize) -> io::Result<Frame> {
        let mut head = [0u8; HEAD];
        from.read_exact(&mut head)?;
        let bad = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        let kind =
            Kind::of(head[0]).ok_or_else(|| bad(format!("a message has the unknown kind {}", head[0])))?;
        let key_len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut length = [0u8; 8];
        length.copy_from_slice(&head[5..]);
        let length = u64::from_le_bytes(length);
        if key_len > MAX_KEY {
            return Err(bad(format!(
                "a message key of {key_len} bytes exceeds the limit of {MAX_KEY} bytes"
            )));
        }
        let length = usize::try_from(length)
            .ok()
            .filter(|&length| length <= max)
            .ok_or_else(|| bad(format!("a message of {length} bytes exceeds the limit of {max} bytes")))?;
        let mut key = vec![0; key_len];
        from.read_exact(&mut key)?;
        // Memory is allocated for the bytes that were received, and not in advance for the length that the sender announced.
        let mut payload = Vec::new();
        from.take(length as u64).read_to_end(&mut payload)?;
        if payload.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Frame { kind, key, payload: Arc::new(payload) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip() {
        let frame = Frame::new(Kind::Collective, b"key", vec![1, 2, 3]);
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        let back = Frame::read(&mut bytes.as_slice(), 3).unwrap();
        assert_eq!((back.kind, back.key, &**back.payload), (frame.kind, frame.key, &[1u8, 2, 3][..]));
        assert!(
            Frame::read(&mut bytes.as_slice(), 2).unwrap_err().to_string().contains("the limit of 2 bytes")
        );
        assert!(Frame::read(&mut &bytes[..bytes.len() - 1], 3).is_err());
    }

    #[test]
    fn announced_lengths_are_checked() {
        let mut head = vec![1];
        head.extend_from_slice(&u32::MAX.to_le_bytes());
        head.extend_from_slice(&0u64.to_le_bytes());
        assert!(Frame::read(&mut head.as_slice(), 10).unwrap_err().to_string().contains("key"));
        head[0] = 99;
        assert!(Frame::read(&mut head.as_slice(), 10).unwrap_err().to_string().contains("kind 99"));
        // An announced length within the limit allocates no memory before the bytes arrive.
        let mut claim = vec![1, 0, 0, 0, 0];
        claim.extend_from_slice(&(1u64 << 40).to_le_bytes());
        assert!(Frame::read(&mut claim.as_slice(), 1 << 41).is_err());
    }
}
