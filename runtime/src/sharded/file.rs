//! Reads sharded arrays from files: each process reads the blocks of its devices.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use shardc_ir::DType;

use super::{BlockRequest, ShardedArray};
use crate::client::Client;
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::layout::ShardLayout;
use crate::placement::Placement;

impl ShardedArray {
    /// Reads an array that is stored in a file from byte `start`: dense, row-major and little-endian, with elements smaller than a byte in
    /// one byte each. Only the blocks of this process's devices are read, one at a time.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or ends before the array; the errors of [`ShardedArray::from_callback`].
    pub fn from_file(
        client: &Client,
        devices: impl Into<Placement>,
        layout: ShardLayout,
        dtype: DType,
        path: &Path,
        start: u64,
    ) -> Result<ShardedArray> {
        let mut file = File::open(path).map_err(RuntimeError::io(path))?;
        let size = HostArray::byte_size(dtype, layout.global_shape())? as u64;
        let length = file.metadata().map_err(RuntimeError::io(path))?.len();
        if start.checked_add(size).is_none_or(|end| end > length) {
            let why = format!("an array of {size} bytes at byte {start} exceeds a file of {length} bytes");
            return Err(RuntimeError::io(path)(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, why)));
        }
        let shape = layout.global_shape().to_vec();
        ShardedArray::from_callback(client, devices, layout, dtype, |block| {
            read_block(&mut file, dtype, &shape, start, block).map_err(RuntimeError::io(path))?
        })
    }
}

/// Reads a block, with one read for each run of elements that are contiguous in the file.
fn read_block(
    file: &mut File,
    dtype: DType,
    shape: &[usize],
    start: u64,
    block: &BlockRequest,
) -> std::io::Result<Result<HostArray>> {
    let width = dtype.bytes();
    // From dimension `whole` on, the block spans the full array. Dimension `whole - 1` is the last sharded dimension, so a run is
    // contiguous from that dimension on.
    let whole = shape.iter().zip(&block.extent).rposition(|(n, part)| n != part).map_or(0, |dim| dim + 1);
    let cut = whole.saturating_sub(1);
    let run: usize = block.extent[cut..].iter().product();
    let mut data = vec![0u8; block.extent.iter().product::<usize>() * width];
    if data.is_empty() {
        return Ok(HostArray::new(dtype, &block.extent, data));
    }
    let mut index = vec![0usize; cut];
    for piece in data.chunks_exact_mut(run * width) {
        let position = shape
            .iter()
            .enumerate()
            .fold(0, |sum, (dim, &n)| sum * n + block.offsets[dim] + index.get(dim).copied().unwrap_or(0));
        file.seek(SeekFrom::Start(start + (position * width) as u64))?;
        file.read_exact(piece)?;
        for dim in (0..cut).rev() {
            index[dim] += 1;
            if index[dim] < block.extent[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    Ok(HostArray::new(dtype, &block.extent, data))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn file_blocks_equal_slices_of_the_array() {
        let shape = [4, 6, 5];
        let values: Vec<f64> = (0..120).map(f64::from).collect();
        let whole = HostArray::from_f64(DType::I16, &shape, &values).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"head").unwrap();
        file.write_all(&whole.data).unwrap();
        for (offsets, extent) in [
            ([0, 0, 0], [4, 6, 5]),
            ([1, 0, 0], [2, 6, 5]),
            ([1, 2, 0], [3, 3, 5]),
            ([2, 3, 1], [2, 3, 4]),
            ([0, 0, 4], [4, 6, 1]),
            ([4, 0, 0], [0, 6, 5]),
        ] {
            let block = BlockRequest {
                place: 0,
                offsets: offsets.to_vec(),
                extent: extent.to_vec(),
                padded: extent.to_vec(),
            };
            let read = read_block(&mut file, DType::I16, &shape, 4, &block).unwrap().unwrap();
            assert_eq!(read, whole.slice_block(&offsets, &extent, 0.0).unwrap(), "{offsets:?} {extent:?}");
        }
    }
}
