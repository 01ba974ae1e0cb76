//! Tensors that are read lazily from their files.

mod pieces;

use std::ops::Range;
use std::sync::Arc;

use shardc_ir::DType;

use crate::cast;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use crate::gather::{self, Dim};

pub(crate) use self::pieces::Piece;
use self::pieces::Pieces;

/// The number of bytes that are read and passed to the sink at a time.
const CHUNK: u64 = 8 << 20;

/// A tensor: element type, shape, and the location of its elements. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    /// A row-major tensor that starts at `offset`.
    Rows {
        file: Arc<DataFile>,
        offset: u64,
    },
    /// A tensor with arbitrary strides, in elements, whose first element is at `offset`.
    Strided {
        file: Arc<DataFile>,
        offset: u64,
        strides: Vec<u64>,
    },
    /// The concatenated bytes of `parts`, from byte `from` on.
    Joined {
        parts: Arc<[Tensor]>,
        from: u64,
    },
    /// A converted float tensor.
    Cast {
        of: Arc<Tensor>,
    },
    /// Boxes (rectangular parts) of the tensor at separate locations.
    Pieces(Pieces),
    Held(Arc<[u8]>),
}

/// Returns the row-major size of a tensor in bytes; `None` if it does not fit in 63 bits.
fn byte_len(dtype: DType, shape: &[usize]) -> Option<u64> {
    let elements = match shape.contains(&0) {
        true => 0,
        false => shape.iter().try_fold(1u64, |n, &size| n.checked_mul(size as u64))?,
    };
    elements.checked_mul(dtype.bytes() as u64).filter(|&n| i64::try_from(n).is_ok())
}

impl Tensor {
    fn made(dtype: DType, shape: Vec<usize>, data: Data) -> Result<Tensor> {
        if byte_len(dtype, &shape).is_none() {
            let text = format!("the size of shape {shape:?} overflows");
            return Err(StateDictError::new(ErrorKind::Tensor, text));
        }
        Ok(Tensor { dtype, shape, data })
    }

    /// Creates a tensor from row-major, little-endian bytes.
    ///
    /// # Errors
    /// The number of bytes does not match the shape (SH1408).
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: impl Into<Arc<[u8]>>) -> Result<Tensor> {
        let bytes = bytes.into();
        if byte_len(dtype, shape) != Some(bytes.len() as u64) {
            let text = format!("a {dtype}{shape:?} tensor does not have {} bytes", bytes.len());
            return Err(StateDictError::new(ErrorKind::Tensor, text));
        }
        Tensor::made(dtype, shape.to_vec(), Data::Held(bytes))
    }

    /// Creates a row-major tensor in a file. The file must be long enough.
    pub(crate) fn in_file(dtype: DType, shape: &[usize], file: Arc<DataFile>, offset: u64) -> Result<Tensor> {
        let end = byte_len(dtype, shape).and_then(|n| n.checked_add(offset));
        if end.is_none_or(|end| end > file.len()) {
            let text = format!("a {dtype}{shape:?} tensor at byte {offset} exceeds the end of the file");
            return Err(StateDictError::new(ErrorKind::Tensor, text).in_file(file.path()));
        }
        Tensor::made(dtype, shape.to_vec(), Data::Rows { file, offset })
    }

    /// Creates a tensor with arbitrary strides, in elements. Its storage starts at byte `storage` of the file and has `room` elements.
    /// The tensor's first element has the index `first` in the storage.
    pub(crate) fn strided(
        dtype: DType,
        shape: &[usize],
        strides: &[u64],
        file: Arc<DataFile>,
        (storage, room): (u64, u64),
        first: u64,
    ) -> Result<Tensor> {
        let wrong = |text: String| Err(StateDictError::new(ErrorKind::Tensor, text).in_file(file.path()));
        if shape.len() != strides.len() {
            return wrong(format!("the tensor has {} strides for {} dimensions", strides.len(), shape.len()));
        }
        let Some(bytes) = byte_len(dtype, shape) else {
            return wrong(format!("the size of shape {shape:?} overflows"));
        };
        let size = dtype.bytes() as u64;
        if bytes == 0 {
            return Tensor::made(dtype, shape.to_vec(), Data::Held(Vec::new().into()));
        }
        let last = shape.iter().zip(strides).try_fold(first, |at, (&n, &stride)| {
            stride.checked_mul(n as u64 - 1).and_then(|more| at.checked_add(more))
        });
        if last.is_none_or(|last| last >= room) {
            return wrong(format!(
                "the tensor of shape {shape:?} with strides {strides:?} from element {first} exceeds its storage of {room} elements"
            ));
        }
        // A tensor larger than its storage would repeat elements, so a small file could request any amount of memory.
        if bytes / size > room {
            let text =
                format!("the tensor of shape {shape:?} has more elements than the {room} of its storage");
            let error = StateDictError::new(ErrorKind::Tensor, text).in_file(file.path());
            return Err(error.hint("call .contiguous() on expanded tensors before saving"));
        }
        let offset = first.checked_mul(size).and_then(|n| n.checked_add(storage));
        let Some(offset) = offset else { return wrong("the offset of the tensor overflows".to_owned()) };
        if gather::is_row_major(shape, strides) {
            return Tensor::in_file(dtype, shape, file, offset);
        }
        Tensor::made(dtype, shape.to_vec(), Data::Strided { file, offset, strides: strides.to_vec() })
    }

    /// Creates a tensor whose bytes are the concatenated bytes of `parts`, from byte `from` on.
    pub(crate) fn joined(dtype: DType, shape: &[usize], parts: Arc<[Tensor]>, from: u64) -> Result<Tensor> {
        let have: u64 = parts.iter().map(Tensor::byte_len).sum();
        let want = byte_len(dtype, shape).and_then(|n| n.checked_add(from));
        if want.is_none_or(|want| want > have) {
            let text = format!(
                "a {dtype}{shape:?} tensor at byte offset {from} extends past the end of its storage ({have} bytes)"
            );
            return Err(StateDictError::new(ErrorKind::Tensor, text));
        }
        Tensor::made(dtype, shape.to_vec(), Data::Joined { parts, from })
    }

    /// Creates a tensor that consists of boxes (rectangular parts).
    pub(crate) fn of_pieces(dtype: DType, shape: &[usize], pieces: Vec<Piece>) -> Result<Tensor> {
        if let [only] = pieces.as_slice()
            && only.tensor.dtype == dtype
            && only.tensor.shape == shape
            && only.offsets.iter().all(|&offset| offset == 0)
        {
            return Ok(only.tensor.clone());
        }
        let pieces = Pieces::new(dtype, shape, pieces)?;
        Tensor::made(dtype, shape.to_vec(), Data::Pieces(pieces))
    }

    /// Casts a float tensor, rounding to nearest even.
    pub(crate) fn cast(self, dtype: DType) -> Result<Tensor> {
        if self.dtype == dtype {
            return Ok(self);
        }
        if !cast::is_float(self.dtype) || !cast::is_float(dtype) {
            let text = format!("cannot convert elements of {} to {dtype}", self.dtype);
            return Err(StateDictError::new(ErrorKind::Tensor, text));
        }
        Tensor::made(dtype, self.shape.clone(), Data::Cast { of: Arc::new(self) })
    }

    /// Returns the element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the sizes of the dimensions; empty for a scalar.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the row-major size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        byte_len(self.dtype, &self.shape).unwrap_or(0)
    }

    /// Returns all elements, row-major and little-endian.
    ///
    /// # Errors
    /// The file cannot be read (SH1401).
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.byte_len() as usize);
        self.for_each_chunk(&mut |chunk| {
            out.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(out)
    }

    /// Reads the elements between the bounds in each dimension, row-major. From a file, only the section that contains them is read.
    ///
    /// # Errors
    /// The bounds are outside the shape (SH1411), or the file cannot be read (SH1401).
    pub fn read_slice(&self, bounds: &[Range<usize>]) -> Result<Vec<u8>> {
        let fits =
            |(bounds, &size): (&Range<usize>, &usize)| bounds.start <= bounds.end && bounds.end <= size;
        if bounds.len() != self.shape.len() || !bounds.iter().zip(&self.shape).all(fits) {
            let text = format!("the bounds {bounds:?} must be within the shape {:?}", self.shape);
            return Err(StateDictError::new(ErrorKind::Slice, text));
        }
        let shape: Vec<usize> = bounds.iter().map(|bounds| bounds.end - bounds.start).collect();
        let Some(len) = byte_len(self.dtype, &shape).filter(|&n| n > 0) else { return Ok(Vec::new()) };
        if let Data::Pieces(pieces) = &self.data {
            let mut out = vec![0; len as usize];
            pieces.read_slice(self.dtype.bytes(), bounds, &mut out)?;
            return Ok(out);
        }
        let strides = match &self.data {
            Data::Strided { strides, .. } => strides.clone(),
            _ => gather::row_major(&self.shape),
        };
        let first = bounds.iter().zip(&strides).map(|(bounds, stride)| bounds.start as u64 * stride).sum();
        self.gather(&shape, &strides, first, len)
    }

    /// Reads strided elements of the flattened, row-major tensor: `shape` elements with `strides` in each dimension, from element `first`
    /// on. The result is row-major. From a file, only the section that contains them is read.
    ///
    /// # Errors
    /// An element is outside the tensor (SH1411), or the file cannot be read (SH1401).
    pub fn read_strided(&self, first: usize, shape: &[usize], strides: &[usize]) -> Result<Vec<u8>> {
        let wrong = || {
            let text = format!(
                "shape {shape:?} with strides {strides:?} from element {first} exceeds a tensor of shape {:?}",
                self.shape
            );
            StateDictError::new(ErrorKind::Slice, text)
        };
        let strides: Vec<u64> = strides.iter().map(|&stride| stride as u64).collect();
        let len = byte_len(self.dtype, shape).filter(|_| shape.len() == strides.len()).ok_or_else(wrong)?;
        if len == 0 {
            return Ok(Vec::new());
        }
        let last = shape.iter().zip(&strides).try_fold(first as u64, |at, (&n, &stride)| {
            stride.checked_mul(n as u64 - 1).and_then(|more| at.checked_add(more))
        });
        if last.is_none_or(|last| last >= self.byte_len() / self.dtype.bytes() as u64) {
            return Err(wrong());
        }
        match &self.data {
            // Strides cannot be composed, so the tensor is copied to row-major order first.
            Data::Strided { .. } => {
                let whole = Tensor::from_bytes(self.dtype, &self.shape, self.read()?)?;
                whole.gather(shape, &strides, first as u64, len)
            }
            _ => self.gather(shape, &strides, first as u64, len),
        }
    }

    /// Gathers elements from the index `first` on. The index and the strides count elements of the file if the tensor is in one file,
    /// otherwise elements of the row-major tensor.
    fn gather(&self, shape: &[usize], strides: &[u64], first: u64, len: u64) -> Result<Vec<u8>> {
        let mut out = vec![0; len as usize];
        let (dims, size) = (Dim::all(shape, strides), self.dtype.bytes() as u64);
        match &self.data {
            Data::Rows { file, offset } | Data::Strided { file, offset, .. } => {
                gather::gather(&dims, size, offset + first * size, &mut out, &mut |at, out| {
                    file.read_at(at, out)
                })?;
            }
            Data::Joined { .. } | Data::Cast { .. } | Data::Pieces(_) | Data::Held(_) => {
                gather::gather(&dims, size, first * size, &mut out, &mut |at, out| self.read_range(at, out))?;
            }
        }
        Ok(out)
    }

    /// Fills `out` with the row-major bytes from `from` on.
    fn read_range(&self, from: u64, out: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        self.chunks_of(from..from + out.len() as u64, &mut |chunk| {
            out[filled..filled + chunk.len()].copy_from_slice(chunk);
            filled += chunk.len();
            Ok(())
        })
    }

    /// Passes all elements to `sink`, row-major, a few megabytes at a time. Only a tensor that is not row-major in its file is held in
    /// memory entirely.
    ///
    /// # Errors
    /// The file cannot be read (SH1401), or `sink` returns an error.
    pub fn for_each_chunk(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.chunks_of(0..self.byte_len(), sink)
    }

    fn chunks_of(&self, range: Range<u64>, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        match &self.data {
            Data::Rows { file, offset } => {
                let mut chunk = vec![0; CHUNK.min(range.end - range.start) as usize];
                let mut at = range.start;
                while at < range.end {
                    let len = CHUNK.min(range.end - at) as usize;
                    file.read_at(offset + at, &mut chunk[..len])?;
                    sink(&chunk[..len])?;
                    at += len as u64;
                }
                Ok(())
            }
            Data::Strided { .. } => {
                let whole: Vec<Range<usize>> = self.shape.iter().map(|&n| 0..n).collect();
                let all = self.read_slice(&whole)?;
                sink(&all[range.start as usize..range.end as usize])
            }
            Data::Joined { parts, from } => {
                let (start, end) = (range.start + from, range.end + from);
                let mut at = 0;
                for part in parts.iter() {
                    let (first, last) = (at, at + part.byte_len());
                    at = last;
                    if first < end && last > start {
                        part.chunks_of(start.max(first) - first..end.min(last) - first, sink)?;
                    }
                }
                Ok(())
            }
            Data::Cast { of } => {
                // Chunks of a concatenated source may end within an element.
                let (from, to) = (of.dtype.bytes() as u64, self.dtype.bytes() as u64);
                let (first, last) = (range.start / to, range.end.div_ceil(to));
                let mut at = first;
                while at < last {
                    let until = last.min(at + CHUNK / from);
                    let mut source = vec![0; ((until - at) * from) as usize];
                    of.read_range(at * from, &mut source)?;
                    let made = cast::cast(of.dtype, self.dtype, &source);
                    let (skip, keep) = (range.start.max(at * to), range.end.min(until * to));
                    sink(&made[(skip - at * to) as usize..(keep - at * to) as usize])?;
                    at = until;
                }
                Ok(())
            }
            Data::Pieces(_) => self.rows_of(range, sink),
            Data::Held(bytes) => sink(&bytes[range.start as usize..range.end as usize]),
        }
    }

    /// Passes the row-major bytes in `range` to `sink`. Each read takes as many slices of the first dimension as fit in [`CHUNK`].
    fn rows_of(&self, range: Range<u64>, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Some((&count, rest)) = self.shape.split_first() else {
            let all = self.read_slice(&[])?;
            return sink(&all[range.start as usize..range.end as usize]);
        };
        let row = self.byte_len() / count as u64;
        let together = (CHUNK / row).max(1);
        let mut first = range.start / row;
        while first * row < range.end {
            let last = (first + together).min(count as u64);
            let bounds = rest.iter().map(|&n| 0..n);
            let bounds: Vec<_> = std::iter::once(first as usize..last as usize).chain(bounds).collect();
            let rows = self.read_slice(&bounds)?;
            let (start, end) = (range.start.max(first * row), range.end.min(last * row));
            sink(&rows[(start - first * row) as usize..(end - first * row) as usize])?;
            first = last;
        }
        Ok(())
    }

    /// Returns the file and the byte offset of a tensor that is row-major in one file, otherwise `None`. Tensors with equal file,
    /// offset and length share their storage.
    pub(crate) fn place(&self) -> Option<(*const DataFile, u64)> {
        match &self.data {
            Data::Rows { file, offset } => Some((Arc::as_ptr(file), *offset)),
            Data::Strided { .. }
            | Data::Joined { .. }
            | Data::Cast { .. }
            | Data::Pieces(_)
            | Data::Held(_) => None,
        }
    }
}
