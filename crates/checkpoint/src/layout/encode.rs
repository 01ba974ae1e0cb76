//! Encodes the file of a block incrementally, in pieces that fit in a core's caches.
//!
//! The file has the format of Zarr's codec `sharding_indexed`, with the inner codecs `bytes` and `crc32c`. All sizes are known in advance,
//! so the file can be produced in pieces. The zarrs library would build the whole file in memory, which takes as much memory as a second
//! block. Tests read these files with zarrs and tensorstore.

use std::ops::Range;

use bytes::Bytes;

use crate::checksum::{Crc32c, crc32c};
use crate::entry::Entry;
use crate::region::{Grid, Indices, Region};
use crate::runs::Gather;
use crate::store::part_size;

/// The size of a CRC-32C checksum in bytes.
pub(crate) const CRC: usize = 4;

/// The offset of each tile in a file is this many bytes after a multiple of [`LINE`]; zeros pad the space between tiles. Large allocations
/// are aligned in the same way (after a 16-byte header of the allocator), and processors copy faster between equally aligned addresses.
const BEGIN: usize = 16;
pub(crate) const LINE: usize = 64;

/// The number of bytes of elements that are gathered at a time, which fit in a core's caches.
const PIECE: usize = 128 << 10;

/// The encoder of the file of one block.
pub(crate) struct BlockFile<'a> {
    /// The elements to write, row-major, which fill the region `own`.
    elements: &'a [u8],
    /// The region of the block that `elements` cover: the entire block, or less if the block extends past the end of the array. The file
    /// contains the entire block; elements outside of this region are zero.
    own: Region,
    width: usize,
    grid: Grid,
    tiles: Vec<Vec<usize>>,
    tile_bytes: usize,
    has_index: bool,
    /// The number of tiles in each part of a multipart upload.
    per_part: usize,
}

/// A position in a block's file at which writing is split. The data after the position is written first, so that the memory of the
/// elements in that data can be freed.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The index of the first tile after the position.
    pub(crate) tile: usize,
    /// The offset of that tile in the file.
    pub(crate) position: u64,
    /// The size in bytes of the elements of all tiles before the position.
    pub(crate) elements: usize,
}

/// Returns the size in bytes of the file of a block, which is equal for all blocks of an entry.
pub(crate) fn file_size(entry: &Entry) -> u64 {
    let bytes = |shape: &[usize]| shape.iter().fold(entry.dtype.bytes() as u64, |all, &n| all * n as u64);
    let crc = CRC as u64;
    match super::array::tile(entry) {
        None => bytes(&entry.block) + crc,
        Some(tile) => {
            let tiles = bytes(&entry.block) / bytes(&tile);
            let stored = (bytes(&tile) + crc).next_multiple_of(LINE as u64);
            BEGIN as u64 + (tiles - 1) * stored + bytes(&tile) + crc + tiles * 16 + crc
        }
    }
}

impl<'a> BlockFile<'a> {
    /// Creates the encoder of a block of the entry. `elements` are the first `shape[i]` elements in each dimension `i` of the block; the
    /// rest of the block is padding.
    pub(crate) fn new(entry: &Entry, elements: &'a [u8], shape: &[usize]) -> BlockFile<'a> {
        let tile = super::array::tile(entry);
        let has_index = tile.is_some();
        let tile = tile.unwrap_or_else(|| entry.block.clone());
        let grid = Grid::new(&entry.block, &tile);
        let tile_bytes = tile.iter().product::<usize>() * entry.dtype.bytes();
        BlockFile {
            elements,
            own: Region::whole(shape),
            width: entry.dtype.bytes(),
            tiles: Indices::new(&grid.counts()).collect(),
            grid,
            tile_bytes,
            has_index,
            per_part: (part_size() / (tile_bytes + LINE)).max(1),
        }
    }

    /// Returns the number of tiles of the file.
    pub(crate) fn count(&self) -> usize {
        self.tiles.len()
    }

    /// Returns a position such that the tiles after it contain at least the last `bytes` bytes of the elements. If these tiles are written
    /// first, the memory of their elements can be freed. `None` if there are fewer elements, or if the file is not divided into tiles along
    /// the first dimension.
    pub(crate) fn cut(&self, bytes: usize) -> Option<Cut> {
        let bands = *self.grid.counts().first().filter(|_| self.has_index)?;
        let rows = *self.own.shape.first()?;
        let (per_band, band_rows) =
            (self.tiles.len() / bands, *self.grid.region(&self.tiles[0]).shape.first()?);
        let band_bytes = self.elements.len() / rows.max(1) * band_rows;
        let behind = bytes.div_ceil(band_bytes.max(1)) + usize::from(!rows.is_multiple_of(band_rows));
        let band = rows.div_ceil(band_rows).checked_sub(behind).filter(|&band| band > 0)?;
        let tile = band * per_band;
        let position = (BEGIN + tile * self.stored() - self.before(tile)) as u64;
        Some(Cut { tile, position, elements: band * band_bytes })
    }

    /// Returns the number of parts into which the file is divided for a multipart upload.
    pub(crate) fn parts(&self) -> usize {
        self.tiles.len().div_ceil(self.per_part)
    }

    /// Encodes the part with index `number` of a multipart upload.
    pub(crate) fn part(&self, number: usize) -> Bytes {
        let first = number * self.per_part;
        let last = (first + self.per_part).min(self.tiles.len());
        let index = if last == self.tiles.len() { self.index_bytes() } else { 0 };
        let mut part = Vec::with_capacity((last - first) * self.stored() + BEGIN + index);
        let mut append = |piece: &[u8]| -> Result<(), std::convert::Infallible> {
            part.extend_from_slice(piece);
            Ok(())
        };
        match self.pieces(first..last, &mut append) {
            Ok(()) => Bytes::from(part),
        }
    }

    /// Returns the distance in bytes between the starts of two consecutive tiles.
    fn stored(&self) -> usize {
        let bytes = self.tile_bytes + CRC;
        if self.has_index { bytes.next_multiple_of(LINE) } else { bytes }
    }

    /// Returns the number of padding bytes before the tile with index `tile`.
    fn before(&self, tile: usize) -> usize {
        match tile {
            _ if !self.has_index => 0,
            0 => BEGIN,
            _ => self.stored() - self.tile_bytes - CRC,
        }
    }

    fn index_bytes(&self) -> usize {
        if self.has_index { self.tiles.len() * 16 + CRC } else { 0 }
    }

    /// Encodes the tiles with indices `tiles`, and passes the bytes to `each` piece by piece. The index of tiles follows the last tile of
    /// the file.
    pub(crate) fn pieces<E>(
        &self,
        tiles: Range<usize>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_end = tiles.end == self.tiles.len();
        let stored = self.stored();
        let mut room = vec![0; PIECE.min(self.tile_bytes)];
        for (number, tile) in self.tiles.iter().enumerate().take(tiles.end).skip(tiles.start) {
            each(&[0; LINE][..self.before(number)])?;
            let mut gather = Gather::new(self.elements, &self.own, &self.grid.region(tile), self.width);
            let (mut checksum, mut left) = (Crc32c::new(), self.tile_bytes);
            while left > 0 {
                let piece = gather.piece(&mut room[..left.min(PIECE)]);
                checksum.update(piece);
                each(piece)?;
                left -= piece.len();
            }
            each(&checksum.value().to_le_bytes())?;
        }
        if is_end && self.has_index {
            let place = |tile: usize| {
                [BEGIN + tile * stored, self.tile_bytes + CRC].map(|bytes| (bytes as u64).to_le_bytes())
            };
            let mut index: Vec<u8> = (0..self.tiles.len()).flat_map(place).flatten().collect();
            index.extend_from_slice(&crc32c(&index).to_le_bytes());
            each(&index)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::DType;

    use super::super::array::{StoredArray, metadata};
    use super::*;

    fn written(entry: &Entry) -> (Vec<u8>, Vec<u8>) {
        let bytes = entry.block.iter().product::<usize>() * entry.dtype.bytes();
        let elements: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect();
        let file = BlockFile::new(entry, &elements, &entry.block);
        let parts: Vec<Bytes> = (0..file.parts()).map(|i| file.part(i)).collect();
        assert!(parts.iter().all(|part| part.len() <= part_size() + (1 << 16)));
        let file = parts.concat();
        let mut pieces = Vec::new();
        let mut append = |piece: &[u8]| -> Result<(), ()> {
            pieces.extend_from_slice(piece);
            Ok(())
        };
        // If the file can be split, encodes the part before the split from only the elements of that part.
        let whole = BlockFile::new(entry, &elements, &entry.block);
        match whole.cut(1 << 20) {
            None => whole.pieces(0..whole.count(), &mut append).unwrap(),
            Some(cut) => {
                assert!(cut.elements + (1 << 20) <= elements.len(), "{cut:?}");
                let before = BlockFile::new(entry, &elements[..cut.elements], &entry.block);
                before.pieces(0..cut.tile, &mut append).unwrap();
                whole.pieces(cut.tile..whole.count(), &mut append).unwrap();
                assert!(file[..usize::try_from(cut.position).unwrap()].len() >= cut.elements);
            }
        }
        assert!(pieces == file);
        assert_eq!(file.len() as u64, file_size(entry));
        (file, elements)
    }

    #[test]
    fn zarrs_reads_written_files() {
        let entries = [
            Entry::whole("a", DType::F32, &[]),
            Entry::split("a", DType::BF16, &[5, 3], &[2, 1]),
            Entry::split("a", DType::F32, &[1024, 1024], &[2, 1]),
            Entry::whole("a", DType::C128, &[70_000]),
            Entry::whole("a", DType::I8, &[3000, 6007]),
        ];
        for entry in &entries {
            let array = StoredArray::read(metadata(entry)).unwrap();
            assert_eq!((&array.shape, &array.block, array.dtype), (&entry.shape, &entry.block, entry.dtype));
            let (file, elements) = written(entry);
            assert!(array.decode(file.clone()).unwrap() == elements, "{entry:?}");
            let Some(tiles) = &array.tiles else { continue };
            let size = tiles.index_size(&array.block).unwrap() as usize;
            let index = tiles.decode_index(file[file.len() - size..].to_vec(), &array.block).unwrap();
            assert_eq!(index.len(), tiles.counts(&array.block).iter().product::<usize>());
            let (offset, length) = index[index.len() - 1].unwrap();
            assert_eq!((offset + length + size as u64, offset % 64), (file.len() as u64, 16));
        }
        assert!(super::super::array::tile(&entries[3]).is_some());
    }

    #[test]
    fn flipped_bytes_are_detected() {
        for entry in [Entry::whole("a", DType::F32, &[3]), Entry::whole("a", DType::F32, &[3, 1 << 18])] {
            let array = StoredArray::read(metadata(&entry)).unwrap();
            let (file, _) = written(&entry);
            // zarrs does not check the padding before a tile.
            let first = if array.tiles.is_some() { BEGIN } else { 0 };
            for at in [first, file.len() / 3, file.len() - 40.min(file.len() - 1), file.len() - 1] {
                let mut bad = file.clone();
                bad[at] ^= 0x10;
                assert!(array.decode(bad).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn unsupported_metadata_is_reported() {
        let good = metadata(&Entry::whole("a", DType::F32, &[3, 1 << 18]));
        let mut bad = good.clone();
        bad["data_type"] = serde_json::json!("string");
        assert!(StoredArray::read(bad).unwrap_err().contains("string"));
        // A fill value other than zero is read correctly.
        let mut filled = good.clone();
        filled["fill_value"] = serde_json::json!(1.0);
        assert_eq!(StoredArray::read(filled).unwrap().fill, Some(1f32.to_le_bytes().to_vec()));
        let mut bad = good.clone();
        bad["codecs"][0]["configuration"]["codecs"][1]["name"] = serde_json::json!("magic");
        assert!(StoredArray::read(bad).unwrap_err().contains("magic"));
        let mut bad = good.clone();
        bad["codecs"][0]["configuration"]["chunk_shape"][0] = serde_json::json!(2);
        assert!(StoredArray::read(bad).unwrap_err().contains("divide"));
        assert!(StoredArray::read(serde_json::Value::Null).is_err());
    }
}
