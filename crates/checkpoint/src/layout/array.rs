//! Writes and reads the Zarr metadata (`zarr.json`) of an array, and builds the decoders that the metadata specifies.

use std::num::NonZeroU64;

use serde_json::{Value, json};
use shardc_ir::DType;
use zarrs::array::codec::CodecChain;
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayToBytesCodecTraits as _, CodecOptions, DataType, FillValue,
};
use zarrs::metadata::v3::MetadataV3;

use super::{dtype, fill, tile::tile_of};
use crate::entry::Entry;

/// A stored array: gives the names of the files of its blocks, and decodes these files.
#[derive(Debug)]
pub(crate) struct StoredArray {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) block: Vec<usize>,
    /// The tiles (inner chunks) of a block's file; `None` if the file is not divided into tiles.
    pub(crate) tiles: Option<Tiles>,
    /// Set if a block's file contains the elements in memory order, uncompressed.
    pub(crate) plain: Option<Plain>,
    /// The bytes of the fill value: the element of blocks that were not written. `None` if the fill value is not supported for this type.
    pub(crate) fill: Option<Vec<u8>>,
    zarr: Array<()>,
}

/// The encoding of a block or tile whose elements are stored in memory order, uncompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    /// Whether the elements are followed by their CRC-32C.
    pub(crate) has_checksum: bool,
}

/// The division of a block's file into tiles (inner chunks), from Zarr's codec `sharding_indexed`.
#[derive(Debug)]
pub(crate) struct Tiles {
    pub(crate) tile: Vec<usize>,
    pub(crate) index_at_end: bool,
    /// Set if a tile contains its elements in memory order, uncompressed.
    pub(crate) plain: Option<Plain>,
    codecs: CodecChain,
    index_codecs: CodecChain,
}

/// Returns the shape of the tiles into which an entry's blocks are divided; `None` if a block is one tile, whose file has no index.
pub(crate) fn tile(entry: &Entry) -> Option<Vec<usize>> {
    let tile = tile_of(&entry.block, entry.dtype.bytes());
    (tile != entry.block).then_some(tile)
}

/// Returns the content of an entry's `zarr.json`.
pub(crate) fn metadata(entry: &Entry) -> Value {
    let bytes = match entry.dtype.bytes() {
        1 => json!({ "name": "bytes" }),
        _ => json!({ "name": "bytes", "configuration": { "endian": "little" } }),
    };
    let crc = json!({ "name": "crc32c" });
    let codecs = match tile(entry) {
        None => json!([bytes, crc]),
        Some(tile) => json!([{
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": tile,
                "codecs": [bytes, crc],
                "index_codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }, crc],
                "index_location": "end",
            },
        }]),
    };
    let mut metadata = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": entry.shape,
        "data_type": dtype::zarr_name(entry.dtype),
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": entry.block } },
        "chunk_key_encoding": { "name": "default" },
        "fill_value": dtype::zero(entry.dtype),
        "codecs": codecs,
    });
    if !dtype::is_named(entry.dtype) {
        metadata["attributes"] = json!({ dtype::ATTRIBUTE: entry.dtype.as_str() });
    }
    metadata
}

impl StoredArray {
    /// Parses an array's metadata. An error is returned as its message.
    pub(crate) fn read(mut metadata: Value) -> Result<StoredArray, String> {
        let name = metadata["data_type"].as_str().unwrap_or_default().to_owned();
        let attribute = metadata["attributes"][dtype::ATTRIBUTE].as_str().map(str::to_owned);
        let dtype = dtype::from_zarr(&name, attribute.as_deref())
            .ok_or_else(|| format!("unknown data type {}", metadata["data_type"]))?;
        let fill = fill::bytes(dtype, &metadata["fill_value"]);
        let block = sizes(&metadata["chunk_grid"]["configuration"]["chunk_shape"]);
        let block = block.filter(|_| metadata["chunk_grid"]["name"] == "regular");
        let block = block.ok_or("the chunk grid is not regular")?;
        let shape = sizes(&metadata["shape"]).ok_or("the shape is not a list of sizes")?;
        let (carrier, zero) = dtype::carrier(dtype);
        metadata["data_type"] = json!(carrier);
        metadata["fill_value"] = zero;
        let tiles = Tiles::read(&metadata["codecs"], &block, dtype)?;
        let plain = Plain::read(&metadata["codecs"], dtype);
        let metadata: ArrayMetadata = serde_json::from_value(metadata).map_err(|e| e.to_string())?;
        let zarr = Array::new_with_metadata(std::sync::Arc::new(()), "/", metadata);
        let zarr = zarr.map_err(|error| error.to_string())?;
        if block.len() != shape.len() || block.contains(&0) {
            return Err(format!("chunks of shape {block:?} do not fit the shape {shape:?}"));
        }
        let size = block.iter().chain(&shape).try_fold(16usize, |all, &n| all.checked_mul(n.max(1)));
        size.ok_or("the array is too large for the address space")?;
        Ok(StoredArray { dtype, shape, block, tiles, plain, fill, zarr })
    }

    /// Returns the path of the file of the block at a grid index, within the folder of the array.
    pub(crate) fn key(&self, index: &[usize]) -> String {
        let index: Vec<u64> = index.iter().map(|&i| i as u64).collect();
        self.zarr.chunk_key(&index).as_str().to_owned()
    }

    /// Decodes an entire block, including padding.
    pub(crate) fn decode(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        decode(&self.zarr.codecs(), bytes, &self.block, self.zarr.data_type(), self.zarr.fill_value())
    }

    /// Decodes a tile.
    pub(crate) fn decode_tile(&self, tiles: &Tiles, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        decode(&tiles.codecs, bytes, &tiles.tile, self.zarr.data_type(), self.zarr.fill_value())
    }
}

impl Plain {
    /// Reads a list of codecs; `None` if a codec does more than convert elements to bytes and add a checksum, or is unknown.
    fn read(codecs: &Value, dtype: DType) -> Option<Plain> {
        let (order, rest) = codecs.as_array()?.split_first()?;
        let endian = &order["configuration"]["endian"];
        let is_ours = endian == "little" || endian.is_null() && dtype.bytes() == 1;
        let has_checksum = match rest {
            [] => false,
            [one] if one["name"] == "crc32c" => true,
            _ => return None,
        };
        (order["name"] == "bytes" && is_ours).then_some(Plain { has_checksum })
    }
}

impl Tiles {
    /// Returns the tiles if the only codec is `sharding_indexed`, with any inner codecs; `None` for other codecs.
    fn read(codecs: &Value, block: &[usize], dtype: DType) -> Result<Option<Tiles>, String> {
        let [codec] = codecs.as_array().map(Vec::as_slice).unwrap_or_default() else { return Ok(None) };
        if codec["name"] != "sharding_indexed" {
            return Ok(None);
        }
        let configuration = &codec["configuration"];
        let tile = sizes(&configuration["chunk_shape"]).filter(|tile| tile.len() == block.len());
        let tile = tile.ok_or("the shape of inner chunks is not a list of sizes")?;
        if tile.contains(&0) || tile.iter().zip(block).any(|(&t, &b)| b % t != 0) {
            return Err(format!("inner chunks of {tile:?} do not divide chunks of {block:?}"));
        }
        let chain = |list: &Value| -> Result<CodecChain, String> {
            let list: Vec<MetadataV3> = serde_json::from_value(list.clone()).map_err(|e| e.to_string())?;
            CodecChain::from_metadata(&list).map_err(|error| error.to_string())
        };
        let index_at_end = match configuration["index_location"].as_str() {
            None | Some("end") => true,
            Some("start") => false,
            Some(other) => return Err(format!("unknown location {other:?} of the index of inner chunks")),
        };
        Ok(Some(Tiles {
            tile,
            index_at_end,
            plain: Plain::read(&configuration["codecs"], dtype),
            codecs: chain(&configuration["codecs"])?,
            index_codecs: chain(&configuration["index_codecs"])?,
        }))
    }

    /// Returns the number of tiles of a block in each dimension.
    pub(crate) fn counts(&self, block: &[usize]) -> Vec<usize> {
        block.iter().zip(&self.tile).map(|(&b, &t)| b / t).collect()
    }

    /// Returns the size in bytes of a file's index of tiles; `None` if the size depends on the data.
    pub(crate) fn index_size(&self, block: &[usize]) -> Option<u64> {
        let shape = self.index_shape(block)?;
        let (data_type, fill) = self.index_type();
        self.index_codecs.encoded_representation(&shape, &data_type, &fill).ok()?.size()
    }

    /// Returns the offset and length in bytes of each tile in the file, in row-major order of tiles; `None` for a tile that was not
    /// written.
    pub(crate) fn decode_index(
        &self,
        bytes: Vec<u8>,
        block: &[usize],
    ) -> Result<Vec<Option<(u64, u64)>>, String> {
        let shape = self.index_shape(block).ok_or("the shape of a chunk contains no inner chunk")?;
        let (data_type, fill) = self.index_type();
        let list =
            self.index_codecs.decode(bytes.into(), &shape, &data_type, &fill, &CodecOptions::default());
        let list = list.map_err(|error| error.to_string())?;
        let list = list.into_fixed().map_err(|error| error.to_string())?;
        let numbers: Vec<u64> = list
            .chunks_exact(8)
            .map(|number| number.try_into().map_or(u64::MAX, u64::from_ne_bytes))
            .collect();
        let place = |pair: &[u64]| {
            let (offset, size) = (pair[0], pair[1]);
            (offset != u64::MAX || size != u64::MAX).then_some((offset, size))
        };
        Ok(numbers.chunks_exact(2).map(place).collect())
    }

    fn index_shape(&self, block: &[usize]) -> Option<Vec<NonZeroU64>> {
        let counts = self.counts(block);
        counts.into_iter().chain([2]).map(|n| NonZeroU64::new(n as u64)).collect()
    }

    fn index_type(&self) -> (DataType, FillValue) {
        (zarrs::array::data_type::uint64(), FillValue::from(u64::MAX))
    }
}

fn decode(
    codecs: &CodecChain,
    bytes: Vec<u8>,
    shape: &[usize],
    data_type: &DataType,
    fill: &FillValue,
) -> Result<Vec<u8>, String> {
    let shape: Option<Vec<NonZeroU64>> = shape.iter().map(|&n| NonZeroU64::new(n as u64)).collect();
    let shape = shape.ok_or("a chunk has no elements")?;
    let decoded: Result<ArrayBytes<'_>, _> =
        codecs.decode(bytes.into(), &shape, data_type, fill, &CodecOptions::default());
    let decoded = decoded.map_err(|error| error.to_string())?;
    Ok(decoded.into_fixed().map_err(|error| error.to_string())?.into_owned())
}

fn sizes(list: &Value) -> Option<Vec<usize>> {
    list.as_array()?.iter().map(|n| usize::try_from(n.as_u64()?).ok()).collect()
}
