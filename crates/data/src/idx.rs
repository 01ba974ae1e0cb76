//! IDX files: arrays of numbers, the format of MNIST.
//!
//! Format: two zero bytes, the element type, the number of dimensions, the sizes as big-endian 32-bit numbers, and the elements in
//! big-endian order (<http://yann.lecun.com/exdb/mnist/>). A file with gzip's magic number is decompressed.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// The type code of unsigned bytes.
const UNSIGNED_BYTE: u8 = 0x08;
/// The magic number of gzip files.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An array of unsigned bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// Sizes of the dimensions; the first is the number of examples.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub data: Vec<u8>,
}

/// An error in reading a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdxError {
    /// The file cannot be opened or decompressed.
    #[error("error[SH1101]: {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not an IDX file of bytes, or is truncated.
    #[error("error[SH1102]: {path}: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// A description of the error.
        reason: String,
    },
}

impl Idx {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, its elements are not bytes, or it does not have as many elements as its header specifies.
    pub fn open(path: &Path) -> Result<Idx, IdxError> {
        let failed = |source| IdxError::Io { path: path.to_owned(), source };
        let mut bytes = std::fs::read(path).map_err(failed)?;
        if bytes.starts_with(&GZIP) {
            let mut unpacked = Vec::new();
            GzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked).map_err(failed)?;
            bytes = unpacked;
        }
        Idx::parse(bytes).map_err(|reason| IdxError::Format { path: path.to_owned(), reason })
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// The bytes are not a valid IDX file; the error describes the reason.
    pub fn parse(mut bytes: Vec<u8>) -> Result<Idx, String> {
        let &[0, 0, ty, rank] = bytes.first_chunk().ok_or("it is truncated")? else {
            return Err("it is not an IDX file, which begins with two zero bytes".to_owned());
        };
        if ty != UNSIGNED_BYTE {
            return Err(format!(
                "its element type is {ty:#04x}, but only unsigned bytes ({UNSIGNED_BYTE:#04x}) are supported"
            ));
        }
        let head = 4 + 4 * usize::from(rank);
        let sizes = bytes.get(4..head).ok_or("it is truncated")?;
        let size = |four: &[u8]| four.iter().fold(0usize, |n, &byte| n << 8 | usize::from(byte));
        let shape: Vec<usize> = sizes.chunks_exact(4).map(size).collect();
        let want = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let have = bytes.len() - head;
        if want != Some(have) {
            return Err(format!("it has {have} elements, which do not match its shape {shape:?}"));
        }
        bytes.drain(..head);
        Ok(Idx { shape, data: bytes })
    }

    /// Encodes the array as the bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![0, 0, UNSIGNED_BYTE, self.shape.len() as u8];
        self.shape.iter().for_each(|&size| out.extend_from_slice(&(size as u32).to_be_bytes()));
        out.extend_from_slice(&self.data);
        out
    }

    /// Returns the number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Returns whether the array has no examples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements of example `i`; empty if there is no such example.
    #[must_use]
    pub fn example(&self, i: usize) -> &[u8] {
        let size: usize = self.shape.iter().skip(1).product();
        self.data.get(i * size..(i + 1) * size).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sample() -> Idx {
        Idx { shape: vec![2, 2, 3], data: (0..12).collect() }
    }

    #[test]
    fn files_round_trip() {
        let bytes = sample().to_bytes();
        assert_eq!(bytes[..16], [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3]);
        assert_eq!(Idx::parse(bytes), Ok(sample()));
        assert_eq!((sample().len(), sample().example(1)), (2, &[6, 7, 8, 9, 10, 11][..]));
    }

    #[test]
    fn gzip_files_are_decompressed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&sample().to_bytes()).unwrap();
        file.write_all(&packed.finish().unwrap()).unwrap();
        assert_eq!(Idx::open(file.path()).unwrap(), sample());
    }

    #[test]
    fn errors_describe_the_fault() {
        let mut short = sample().to_bytes();
        short.pop();
        assert_eq!(
            Idx::parse(short).unwrap_err(),
            "it has 11 elements, which do not match its shape [2, 2, 3]"
        );
        assert_eq!(Idx::parse(vec![0, 0, 8]).unwrap_err(), "it is truncated");
        assert_eq!(Idx::parse(vec![0, 0, 8, 9, 0]).unwrap_err(), "it is truncated");
        assert!(Idx::parse(vec![0, 0, 13, 0]).unwrap_err().contains("0x0d"));
        assert!(Idx::parse(b"GIF8".to_vec()).unwrap_err().contains("two zero bytes"));
        let huge = [vec![0, 0, 8, 3], vec![0xff; 12]].concat();
        assert!(Idx::parse(huge).is_err());
        let error = Idx::open(Path::new("no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("error[SH1101]: no/such/file: "), "{error}");
    }
}
