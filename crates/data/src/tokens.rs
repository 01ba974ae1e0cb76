//! Token files: 16-bit or 32-bit little-endian numbers without a header, such as nanoGPT's `train.bin`.
//!
//! Tokens are read on demand, so a file may be larger than host memory, and processes can share it. The operating system keeps recently
//! read parts in its page cache.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The width of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenWidth {
    /// 16 bits, for vocabularies of at most 65,536 tokens.
    U16,
    /// 32 bits, for tokens below 2^31.
    U32,
}

/// A file of tokens.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    file: File,
    width: TokenWidth,
    len: u64,
}

/// An error in reading tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be opened or read.
    #[error("error[SH1111]: {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file, or the request, is invalid.
    #[error("error[SH1112]: {path}: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// A description of the error.
        reason: String,
    },
}

impl TokenWidth {
    fn bytes(self) -> u64 {
        match self {
            TokenWidth::U16 => 2,
            TokenWidth::U32 => 4,
        }
    }
}

impl TokenFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be opened (SH1111), or its last token is incomplete (SH1112).
    pub fn open(path: &Path, width: TokenWidth) -> Result<TokenFile, TokenError> {
        let failed = |source| TokenError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        if bytes % width.bytes() != 0 {
            let reason =
                format!("its size of {bytes} bytes is not a multiple of the token size, {}", width.bytes());
            return Err(TokenError::Format { path: path.to_owned(), reason });
        }
        Ok(TokenFile { path: path.to_owned(), file, width, len: bytes / width.bytes() })
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the file has no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads `count` tokens, beginning with index `at`.
    ///
    /// # Errors
    /// The range exceeds the file, or a token is 2^31 or larger (SH1112); or the file cannot be read (SH1111).
    pub fn read(&self, at: u64, count: usize) -> Result<Vec<i32>, TokenError> {
        let wrong = |reason: String| TokenError::Format { path: self.path.clone(), reason };
        if at.checked_add(count as u64).is_none_or(|end| end > self.len) {
            return Err(wrong(format!(
                "tokens {at} to {at} + {count} are out of range: the file has {} tokens",
                self.len
            )));
        }
        let mut bytes = vec![0; count * self.width.bytes() as usize];
        let read = self.file.read_exact_at(&mut bytes, at * self.width.bytes());
        read.map_err(|source| TokenError::Io { path: self.path.clone(), source })?;
        match self.width {
            TokenWidth::U16 => {
                let token = |pair: &[u8]| i32::from(pair[0]) | i32::from(pair[1]) << 8;
                Ok(bytes.chunks_exact(2).map(token).collect())
            }
            TokenWidth::U32 => bytes
                .chunks_exact(4)
                .map(|four| {
                    let token = four.iter().rev().fold(0u32, |sum, &byte| sum << 8 | u32::from(byte));
                    i32::try_from(token)
                        .map_err(|_| wrong(format!("the token {token} does not fit in 31 bits")))
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_on_demand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.bin");
        let bytes: Vec<u8> = (0..1000u16).flat_map(|i| (i * 60).to_le_bytes()).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = TokenFile::open(&path, TokenWidth::U16).unwrap();
        assert_eq!((file.len(), file.is_empty()), (1000, false));
        assert_eq!(file.read(997, 3).unwrap(), [59_820, 59_880, 59_940]);
        assert!(file.read(998, 3).unwrap_err().to_string().contains("SH1112"));
        assert!(file.read(u64::MAX, 3).is_err());
        let wide = TokenFile::open(&path, TokenWidth::U32).unwrap();
        assert_eq!(wide.len(), 500);
        assert_eq!(wide.read(1, 1).unwrap(), [120 + (180 << 16)]);
        assert!(wide.read(499, 1).unwrap_err().to_string().contains("31 bits"));
        std::fs::write(&path, [1, 2, 3]).unwrap();
        assert!(TokenFile::open(&path, TokenWidth::U16).is_err());
        assert!(TokenFile::open(&folder.path().join("none"), TokenWidth::U16).is_err());
    }
}
