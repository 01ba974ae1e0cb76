//! Reads the needed tiles of a block's file, and verifies each of them.

use std::fs::File;
use std::io::{self, ErrorKind, IoSliceMut, Read as _, Seek as _, SeekFrom};
use std::ops::Range;

use bytes::Bytes;

use crate::checkpoint::{Checkpoint, Stored};
use crate::checksum::{Crc32c, crc32c};
use crate::error::{CheckpointError, Damage, Result};
use crate::layout::array::{Plain, Tiles};
use crate::layout::encode::{CRC, LINE};
use crate::objects::Object;
use crate::region::{Grid, Region};
use crate::runs::{Runs, Scatter};
use crate::store::Store;

/// The number of bytes that are read at a time before they are added to the checksum, so that they are still in the caches.
const PIECE: usize = 256 << 10;

/// The minimum length of contiguous bytes that are read directly into the destination. Shorter runs are read into a buffer and copied,
/// which is faster.
const LONG: usize = 1 << 10;

/// A failure to read a file.
pub(crate) enum Fault {
    /// The file is damaged.
    Damage(Damage),
    /// The store failed.
    Error(CheckpointError),
}

impl From<CheckpointError> for Fault {
    fn from(error: CheckpointError) -> Fault {
        Fault::Error(error)
    }
}

/// Reads the intersection of the block at grid index `index` and the region `wanted`, and copies it into `elements`, the row-major elements
/// of `wanted`. If `elements` is `None`, the tiles are only verified. Tiles are always read entirely. Elements of a damaged tile may
/// already have been copied. From an object store, consecutive tiles are requested together, up to `most` bytes.
pub(crate) fn block(
    checkpoint: &Checkpoint,
    stored: &Stored,
    index: &[usize],
    wanted: &Region,
    elements: Option<&mut [u8]>,
    room: &mut Room,
    most: usize,
) -> Result<(), Fault> {
    let Stored { entry, array, block_bytes } = stored;
    let object = format!("{}/{}", entry.name, array.key(index));
    let damage =
        |what: String| Fault::Damage(Damage { entry: entry.name.clone(), object: object.clone(), what });
    let Some(found) = checkpoint.objects.open(&checkpoint.store, &checkpoint.path, &object)? else {
        return match (&array.fill, checkpoint.objects.absent_is_fill()) {
            (Some(fill), true) => {
                if let Some(elements) = elements {
                    fill_block(stored, index, wanted, elements, fill);
                }
                Ok(())
            }
            (None, true) => Err(damage("is missing, and its fill value is not supported".to_owned())),
            (_, false) => Err(damage("is missing".to_owned())),
        };
    };
    let size = found.size;
    if let Some(expected) = *block_bytes
        && size != expected
    {
        return Err(damage(format!("has {size} bytes, expected {expected}")));
    }
    let origin: Vec<usize> = index.iter().zip(&array.block).map(|(&i, &b)| i * b).collect();
    let target = Target { wanted, elements, width: entry.dtype.bytes() };
    let store = &checkpoint.store;
    let mut reader = Reader {
        store,
        path: &found.path,
        start: found.start,
        source: found.object,
        damage: &damage,
        target,
        room,
        most: most as u64,
        run: Vec::new(),
    };
    let Some(tiles) = &array.tiles else {
        let decode = |bytes| array.decode(bytes);
        let form = Form { shape: &array.block, plain: array.plain, decode: &decode };
        let region = Region { offset: origin, shape: array.block.clone() };
        reader.tile(&form, Tile { region, at: 0..size, before: 0 })?;
        return reader.finish(&form);
    };
    let places = reader.index(tiles, &array.block, size)?;
    let grid = Grid::new(&array.block, &tiles.tile);
    let counts = grid.counts();
    let number = |tile: &[usize]| tile.iter().zip(&counts).fold(0, |at, (&i, &n)| at * n + i);
    // The intersection of the block and `wanted`, with offsets relative to the block.
    let own = Region { offset: origin.clone(), shape: array.block.clone() };
    let Some(mut local) = own.overlap(wanted) else { return Ok(()) };
    local.offset.iter_mut().zip(&origin).for_each(|(o, start)| *o -= start);
    let decode = |bytes| array.decode_tile(tiles, bytes);
    let form = Form { shape: &tiles.tile, plain: tiles.plain, decode: &decode };
    for tile in grid.touched(&local) {
        let Some((offset, length)) = places.get(number(&tile)).copied().flatten() else {
            return Err(damage(format!("does not contain the inner chunk {tile:?}")));
        };
        let end = offset.checked_add(length).filter(|&end| end <= size);
        let end = end.ok_or_else(|| {
            damage(format!(
                "is truncated or has a damaged index: the inner chunk {tile:?} extends past its end"
            ))
        })?;
        let first = tile.iter().zip(&tiles.tile).zip(&origin).map(|((&i, &t), &o)| o + i * t).collect();
        let region = Region { offset: first, shape: tiles.tile.clone() };
        // In files of shardc, the bytes between two tiles are zero; they are read too, to detect damage in them.
        let last = match number(&tile).checked_sub(1) {
            None => Some(0),
            Some(before) => places[before].and_then(|(offset, length)| offset.checked_add(length)),
        };
        let before = last.filter(|_| block_bytes.is_some()).and_then(|last| offset.checked_sub(last));
        let before = before.filter(|&before| before < LINE as u64).unwrap_or(0);
        reader.tile(&form, Tile { region, at: offset - before..end, before: before as usize })?;
    }
    reader.finish(&form)
}

/// A thread's buffer for tiles that are only partly needed. It is small enough for a core's caches.
pub(crate) struct Room {
    bytes: Vec<u8>,
    start: usize,
}

impl Room {
    /// The alignment of the buffer in bytes: processors copy faster to addresses at the start of a cache line.
    const ALIGNED: usize = 4 << 10;

    pub(crate) fn new() -> Room {
        let bytes = vec![0; PIECE + Room::ALIGNED];
        let start = bytes.as_ptr().align_offset(Room::ALIGNED).min(Room::ALIGNED);
        Room { bytes, start }
    }

    /// Returns the first `bytes` of the buffer, or the entire buffer if it is smaller.
    fn piece(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + bytes.min(PIECE)]
    }
}

/// Reads consecutive bytes of a file into the slices `parts`, and adds them to the checksum `sum`.
fn place(source: &Object, parts: &mut [&mut [u8]], sum: &mut Crc32c) -> io::Result<()> {
    let mut rest = parts;
    while let Some(first) = rest.first() {
        let together = (PIECE / first.len().max(1)).clamp(1, rest.len());
        let (now, later) = rest.split_at_mut(together);
        fill(source, now)?;
        now.iter().for_each(|part| sum.update(part));
        rest = later;
    }
    Ok(())
}

/// Fills slices of memory with the next bytes of a file; does nothing if the object is not a file.
fn fill(source: &Object, parts: &mut [&mut [u8]]) -> io::Result<()> {
    let Object::File(file) = source else { return Ok(()) };
    let mut file: &File = file;
    let mut slices: Vec<IoSliceMut<'_>> = parts.iter_mut().map(|part| IoSliceMut::new(part)).collect();
    let mut left = &mut slices[..];
    // Skips empty slices at the start: a read into them would return 0, which means the end of the file.
    IoSliceMut::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match file.read_vectored(left) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => IoSliceMut::advance_slices(&mut left, count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Copies the fill value to the elements of `wanted` that belong to a block without a file.
fn fill_block(stored: &Stored, index: &[usize], wanted: &Region, elements: &mut [u8], fill: &[u8]) {
    let block = stored.entry.grid().region(index);
    for run in Runs::new(&block, wanted, fill.len()) {
        let elements = &mut elements[run.to..run.to + run.len];
        elements.chunks_exact_mut(fill.len()).for_each(|element| element.copy_from_slice(fill));
    }
}

/// The properties that all tiles of a block share.
struct Form<'a> {
    shape: &'a [usize],
    plain: Option<Plain>,
    /// Decodes a tile that is not plain (uncompressed, in memory order).
    decode: &'a dyn Fn(Vec<u8>) -> Result<Vec<u8>, String>,
}

/// A tile: the region of its elements in the array, and the range of its bytes in the file.
struct Tile {
    region: Region,
    at: Range<u64>,
    /// The number of padding bytes at the start of `at`, before the tile, which must be zero.
    before: usize,
}

/// The region of the array to read, and the memory for its elements.
struct Target<'a> {
    wanted: &'a Region,
    elements: Option<&'a mut [u8]>,
    width: usize,
}

impl Target<'_> {
    /// Returns the slices of the destination into which a tile can be read directly, each at most [`PIECE`] bytes long. `None` if only a
    /// part of the tile is needed, or if the slices are so short that copying from a buffer is faster.
    fn place(&mut self, tile: &Tile) -> Option<Vec<&mut [u8]>> {
        let mut runs = Runs::new(&tile.region, self.wanted, self.width).peekable();
        let is_whole = tile.region.overlap(self.wanted)? == tile.region;
        if !is_whole || runs.peek()?.len < LONG {
            return None;
        }
        let (mut rest, mut at, mut parts) = (self.elements.as_deref_mut()?, 0, Vec::new());
        for run in runs {
            let (_, from) = rest.split_at_mut(run.to - at);
            let (part, behind) = from.split_at_mut(run.len);
            parts.extend(part.chunks_mut(PIECE));
            (rest, at) = (behind, run.to + run.len);
        }
        Some(parts)
    }
}

struct Reader<'a> {
    store: &'a Store,
    path: &'a str,
    /// The offset of the object in its file, in bytes.
    start: u64,
    source: Object,
    damage: &'a dyn Fn(String) -> Fault,
    target: Target<'a>,
    room: &'a mut Room,
    most: u64,
    /// Tiles with consecutive bytes in the object, which will be read by one request.
    run: Vec<Tile>,
}

impl Reader<'_> {
    /// Reads a tile: immediately from a file, or in one request with the following tiles from an object store.
    fn tile(&mut self, form: &Form<'_>, tile: Tile) -> Result<(), Fault> {
        match (&self.source, form.plain) {
            (Object::File(_), Some(plain)) => return self.pass(form, plain, &tile),
            (Object::File(_), None) => {
                let bytes = self.bytes(tile.at.clone())?;
                return self.give(form, &tile, &bytes);
            }
            (Object::Stored | Object::Held(_), _) => {}
        }
        if let (Some(first), Some(last)) = (self.run.first(), self.run.last())
            && (tile.at.start != last.at.end || tile.at.end - first.at.start > self.most)
        {
            self.finish(form)?;
        }
        self.run.push(tile);
        Ok(())
    }

    /// Reads the tiles in `run`, which were not requested yet.
    fn finish(&mut self, form: &Form<'_>) -> Result<(), Fault> {
        let run = std::mem::take(&mut self.run);
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
        let start = first.at.start;
        let bytes = self.bytes(start..last.at.end)?;
        let at = |byte: u64| usize::try_from(byte - start).unwrap_or(usize::MAX);
        run.iter().try_for_each(|tile| self.give(form, tile, &bytes[at(tile.at.start)..at(tile.at.end)]))
    }

    /// Reads a range of bytes of the object; offsets are relative to the start of the object.
    fn bytes(&self, range: Range<u64>) -> Result<Bytes, Fault> {
        let length = range.end - range.start;
        match &self.source {
            Object::File(_) => {
                let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
                self.seek(range.start)?;
                self.fill(&mut bytes)?;
                Ok(bytes.into())
            }
            Object::Held(bytes) => {
                let at = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX);
                match at(range.end) <= bytes.len() {
                    true => Ok(bytes.slice(at(range.start)..at(range.end))),
                    false => Err((self.damage)("ends early".to_owned())),
                }
            }
            Object::Stored => {
                let range = self.start + range.start..self.start + range.end;
                let read = self.store.get_ranges(self.path, std::slice::from_ref(&range))?;
                let bytes = read.and_then(|list| list.into_iter().next());
                let bytes = bytes.ok_or_else(|| (self.damage)("is missing".to_owned()))?;
                match bytes.len() as u64 == length {
                    true => Ok(bytes),
                    false => Err((self.damage)("ends early".to_owned())),
                }
            }
        }
    }

    /// Reads a plain tile (uncompressed, in memory order) of a file piece by piece, so that a piece is still in a core's caches when its
    /// checksum is computed.
    fn pass(&mut self, form: &Form<'_>, plain: Plain, tile: &Tile) -> Result<(), Fault> {
        let (elements, checksum) = self.lengths(form, plain, tile)?;
        self.seek(tile.at.start)?;
        let mut before = [0; LINE];
        self.fill(&mut before[..tile.before])?;
        self.nothing(tile, &before[..tile.before])?;
        let mut sum = Crc32c::new();
        let outcome = match self.target.place(tile) {
            Some(mut parts) => place(&self.source, &mut parts, &mut sum),
            None => self.scatter(tile, elements, &mut sum),
        };
        outcome.map_err(|error| self.refused(&error))?;
        let mut stored = [0; CRC];
        self.fill(&mut stored[..checksum])?;
        self.compare(tile, sum.value(), &stored[..checksum])
    }

    /// Reads a plain tile (uncompressed, in memory order) of `elements` bytes through the thread's buffer, and copies the needed elements
    /// to the destination.
    fn scatter(&mut self, tile: &Tile, elements: usize, sum: &mut Crc32c) -> io::Result<()> {
        let mut left = elements;
        let mut scatter = Scatter::new(&tile.region, self.target.wanted, self.target.width);
        while left > 0 {
            let piece = self.room.piece(left);
            fill(&self.source, &mut [piece])?;
            let piece = self.room.piece(left);
            sum.update(piece);
            if let Some(to) = &mut self.target.elements {
                scatter.take(piece, to);
            }
            left -= piece.len();
        }
        Ok(())
    }

    /// Verifies and decodes the bytes of a tile, and copies the needed elements to the destination.
    fn give(&mut self, form: &Form<'_>, tile: &Tile, bytes: &[u8]) -> Result<(), Fault> {
        let (before, bytes) = bytes.split_at(tile.before);
        self.nothing(tile, before)?;
        let decoded;
        let elements = if let Some(plain) = form.plain {
            let (elements, _) = self.lengths(form, plain, tile)?;
            let (elements, checksum) = bytes.split_at(elements);
            self.compare(tile, crc32c(elements), checksum)?;
            elements
        } else {
            decoded = (form.decode)(bytes.to_vec()).map_err(|error| self.bad(tile, &error))?;
            &decoded
        };
        if let Some(to) = &mut self.target.elements {
            Scatter::new(&tile.region, self.target.wanted, self.target.width).take(elements, to);
        }
        Ok(())
    }

    /// Returns the sizes in bytes of the elements and of the checksum of a plain tile (uncompressed, in memory order). It is an error if
    /// their sum differs from the size of the tile in the file.
    fn lengths(&self, form: &Form<'_>, plain: Plain, tile: &Tile) -> Result<(usize, usize), Fault> {
        let elements = form.shape.iter().product::<usize>() * self.target.width;
        let checksum = if plain.has_checksum { CRC } else { 0 };
        let length = tile.at.end - tile.at.start - tile.before as u64;
        if length != (elements + checksum) as u64 {
            return Err(self.bad(tile, &format!("it has {length} bytes, expected {}", elements + checksum)));
        }
        Ok((elements, checksum))
    }

    /// Checks that the padding before a tile consists of zeros.
    fn nothing(&self, tile: &Tile, before: &[u8]) -> Result<(), Fault> {
        match before.iter().all(|&byte| byte == 0) {
            true => Ok(()),
            false => Err(self.bad(tile, "the padding before it is not zero")),
        }
    }

    /// Compares a tile's checksum with the stored checksum, unless `stored` is empty.
    fn compare(&self, tile: &Tile, sum: u32, stored: &[u8]) -> Result<(), Fault> {
        if stored.is_empty() || sum.to_le_bytes() == stored {
            return Ok(());
        }
        Err(self.bad(tile, "its checksum does not match"))
    }

    fn bad(&self, tile: &Tile, what: &str) -> Fault {
        (self.damage)(format!("is damaged at {}: {what}", tile.region))
    }

    fn seek(&self, to: u64) -> Result<(), Fault> {
        let Object::File(file) = &self.source else { return Ok(()) };
        let mut file: &File = file;
        file.seek(SeekFrom::Start(self.start + to)).map(|_| ()).map_err(|error| self.refused(&error))
    }

    fn fill(&self, room: &mut [u8]) -> Result<(), Fault> {
        fill(&self.source, &mut [room]).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &io::Error) -> Fault {
        match error.kind() {
            ErrorKind::UnexpectedEof => (self.damage)("ends early".to_owned()),
            _ => Fault::Error(self.store.failed("reading", self.path, error)),
        }
    }

    /// Reads the offset and length in bytes of each tile in a file; `size` is the size of the file.
    fn index(&self, tiles: &Tiles, block: &[usize], size: u64) -> Result<Vec<Option<(u64, u64)>>, Fault> {
        let length = tiles.index_size(block).filter(|&length| length <= size);
        let length =
            length.ok_or_else(|| (self.damage)(format!("has {size} bytes, fewer than its index needs")))?;
        let bytes = self.bytes(if tiles.index_at_end { size - length..size } else { 0..length })?;
        let index = tiles.decode_index(bytes.into(), block);
        index.map_err(|error| (self.damage)(format!("has an invalid index: {error}")))
    }
}
