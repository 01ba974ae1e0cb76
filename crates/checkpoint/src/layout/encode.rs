//! The bytes of a block's file, made part by part.
//!
//! The file is what Zarr's codec `sharding_indexed` makes of tiles with the codecs `bytes` and `crc32c`. Sizes are known before
//! anything is written, so that a part of the file is made at a time; zarrs makes such a file in one piece, which needs the
//! memory of a block once more. Tests read what is written here with zarrs and tensorstore.

use bytes::Bytes;

use crate::entry::Entry;
use crate::region::{Grid, Indices, Region, copy};
use crate::store::part_size;

/// Bytes of a checksum.
const CRC: usize = 4;

/// The file of a block.
pub(crate) struct BlockFile<'a> {
    /// The elements, padding included, row-major.
    elements: &'a [u8],
    block: &'a [usize],
    width: usize,
    grid: Grid,
    tiles: Vec<Vec<usize>>,
    tile_bytes: usize,
    has_index: bool,
    /// Tiles of a part.
    per_part: usize,
}

/// The bytes that the file of a block of an entry has.
pub(crate) fn file_size(entry: &Entry) -> u64 {
    let bytes = |shape: &[usize]| shape.iter().fold(entry.dtype.bytes() as u64, |all, &n| all * n as u64);
    let crc = CRC as u64;
    match super::array::tile(entry) {
        None => bytes(&entry.block) + crc,
        Some(tile) => {
            let tiles = bytes(&entry.block) / bytes(&tile);
            bytes(&entry.block) + tiles * (crc + 16) + crc
        }
    }
}

impl<'a> BlockFile<'a> {
    /// `elements` are those of a whole block of the entry, padding included.
    pub(crate) fn new(entry: &'a Entry, elements: &'a [u8]) -> BlockFile<'a> {
        let tile = super::array::tile(entry);
        let has_index = tile.is_some();
        let tile = tile.unwrap_or_else(|| entry.block.clone());
        let grid = Grid::new(&entry.block, &tile);
        let tile_bytes = tile.iter().product::<usize>() * entry.dtype.bytes();
        BlockFile {
            elements,
            block: &entry.block,
            width: entry.dtype.bytes(),
            tiles: Indices::new(&grid.counts()).collect(),
            grid,
            tile_bytes,
            has_index,
            per_part: (part_size() / (tile_bytes + CRC)).max(1),
        }
    }

    /// Of how many parts the file is made.
    pub(crate) fn parts(&self) -> usize {
        self.tiles.len().div_ceil(self.per_part)
    }

    /// A part of the file.
    pub(crate) fn part(&self, number: usize) -> Bytes {
        let first = number * self.per_part;
        let last = (first + self.per_part).min(self.tiles.len());
        let stored = self.tile_bytes + CRC;
        let index = if self.has_index && last == self.tiles.len() { self.tiles.len() * 16 + CRC } else { 0 };
        let mut part = vec![0u8; (last - first) * stored + index];
        let whole = Region::whole(self.block);
        for (tile, slot) in self.tiles[first..last].iter().zip(part.chunks_exact_mut(stored)) {
            let (elements, checksum) = slot.split_at_mut(self.tile_bytes);
            copy(self.elements, &whole, elements, &self.grid.region(tile), self.width);
            checksum.copy_from_slice(&crc32c::crc32c(elements).to_le_bytes());
        }
        if index > 0 {
            let (_, list) = part.split_at_mut((last - first) * stored);
            let (places, checksum) = list.split_at_mut(self.tiles.len() * 16);
            for (tile, place) in places.chunks_exact_mut(16).enumerate() {
                let (offset, size) = place.split_at_mut(8);
                offset.copy_from_slice(&((tile * stored) as u64).to_le_bytes());
                size.copy_from_slice(&(stored as u64).to_le_bytes());
            }
            checksum.copy_from_slice(&crc32c::crc32c(places).to_le_bytes());
        }
        Bytes::from(part)
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
        let file = BlockFile::new(entry, &elements);
        let parts: Vec<Bytes> = (0..file.parts()).map(|i| file.part(i)).collect();
        assert!(parts.iter().all(|part| part.len() <= part_size() + (1 << 16)));
        let file = parts.concat();
        assert_eq!(file.len() as u64, file_size(entry));
        (file, elements)
    }

    #[test]
    fn zarrs_reads_what_is_written() {
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
            assert_eq!(offset + length + size as u64, file.len() as u64);
        }
        assert!(super::super::array::tile(&entries[3]).is_some());
    }

    #[test]
    fn a_flipped_byte_is_noticed_wherever_it_is() {
        for entry in [Entry::whole("a", DType::F32, &[3]), Entry::whole("a", DType::F32, &[3, 1 << 18])] {
            let array = StoredArray::read(metadata(&entry)).unwrap();
            let (file, _) = written(&entry);
            for at in [0, file.len() / 3, file.len() - 40.min(file.len() - 1), file.len() - 1] {
                let mut bad = file.clone();
                bad[at] ^= 0x10;
                assert!(array.decode(bad).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn metadata_that_is_not_read_is_said() {
        let good = metadata(&Entry::whole("a", DType::F32, &[3, 1 << 18]));
        let mut bad = good.clone();
        bad["data_type"] = serde_json::json!("string");
        assert!(StoredArray::read(bad).unwrap_err().contains("string"));
        let mut bad = good.clone();
        bad["fill_value"] = serde_json::json!(1.0);
        assert!(StoredArray::read(bad).unwrap_err().contains("fill value"));
        let mut bad = good.clone();
        bad["codecs"][0]["configuration"]["codecs"][1]["name"] = serde_json::json!("magic");
        assert!(StoredArray::read(bad).unwrap_err().contains("magic"));
        let mut bad = good.clone();
        bad["codecs"][0]["configuration"]["chunk_shape"][0] = serde_json::json!(2);
        assert!(StoredArray::read(bad).unwrap_err().contains("divide"));
        assert!(StoredArray::read(serde_json::Value::Null).is_err());
    }
}
