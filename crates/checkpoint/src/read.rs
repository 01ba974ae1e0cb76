//! Reading parts of a block's file: the tiles that are wanted, each checked.

use std::ops::Range;

use crate::checkpoint::{Checkpoint, Stored};
use crate::error::{CheckpointError, Damage, Result};
use crate::layout::array::Tiles;
use crate::region::{Grid, Region};
use crate::store::{join, part_size};

/// What was read: a box of the array, and its elements.
pub(crate) struct Piece {
    pub(crate) region: Region,
    pub(crate) elements: Vec<u8>,
}

/// Why a file could not be read.
pub(crate) enum Fault {
    /// It is not what was written.
    Damage(Damage),
    /// The store refused, or whoever wanted the piece did.
    Error(CheckpointError),
}

impl From<CheckpointError> for Fault {
    fn from(error: CheckpointError) -> Fault {
        Fault::Error(error)
    }
}

/// Reads what a block has of a box, and gives it away piece by piece; pieces may reach beyond the box, and beyond the array.
pub(crate) fn block(
    checkpoint: &Checkpoint,
    stored: &Stored,
    index: &[usize],
    wanted: &Region,
    take: &mut dyn FnMut(Piece) -> Result<()>,
) -> Result<(), Fault> {
    let Stored { entry, array, block_bytes } = stored;
    let object = format!("{}/{}", entry.name, array.key(index));
    let damage =
        |what: String| Fault::Damage(Damage { entry: entry.name.clone(), object: object.clone(), what });
    let path = join(&checkpoint.path, &object);
    let store = &checkpoint.store;
    let Some(size) = store.size(&path)? else { return Err(damage("is missing".to_owned())) };
    if let Some(expected) = *block_bytes
        && size != expected
    {
        return Err(damage(format!("has {size} bytes of {expected}")));
    }
    let origin: Vec<usize> = index.iter().zip(&array.block).map(|(&i, &b)| i * b).collect();
    let range = |range: Range<u64>| -> Result<Vec<u8>, Fault> {
        let read = store.get_ranges(&path, std::slice::from_ref(&range))?;
        let bytes = read.and_then(|list| list.into_iter().next());
        let bytes = bytes.ok_or_else(|| damage("is missing".to_owned()))?;
        let length = range.end - range.start;
        match bytes.len() as u64 == length {
            true => Ok(bytes.into()),
            false => Err(damage(format!("ends {} bytes early", length.saturating_sub(bytes.len() as u64)))),
        }
    };
    let Some(tiles) = &array.tiles else {
        let elements = array.decode(range(0..size)?).map_err(&damage)?;
        take(Piece { region: Region { offset: origin, shape: array.block.clone() }, elements })?;
        return Ok(());
    };
    let places = index_of(tiles, &array.block, size, &range, &damage)?;
    let grid = Grid::new(&array.block, &tiles.tile);
    let counts = grid.counts();
    let number = |tile: &[usize]| tile.iter().zip(&counts).fold(0, |at, (&i, &n)| at * n + i);
    // The box as the block sees it.
    let own = Region { offset: origin.clone(), shape: array.block.clone() };
    let Some(mut local) = own.overlap(wanted) else { return Ok(()) };
    local.offset.iter_mut().zip(&origin).for_each(|(o, start)| *o -= start);
    let mut run = Run::default();
    for tile in grid.touched(&local) {
        let Some((offset, length)) = places.get(number(&tile)).copied().flatten() else {
            return Err(damage(format!("lacks its inner chunk {tile:?}")));
        };
        let end = offset.checked_add(length).filter(|&end| end <= size);
        let end = end.ok_or_else(|| damage(format!("has an inner chunk {tile:?} beyond its end")))?;
        if !run.takes(offset, end) {
            run.read(&range, &mut |tile, bytes| give(stored, tiles, &origin, tile, bytes, &damage, take))?;
        }
        run.push(tile, offset, end);
    }
    run.read(&range, &mut |tile, bytes| give(stored, tiles, &origin, tile, bytes, &damage, take))
}

/// Decodes a tile and gives it away.
fn give(
    stored: &Stored,
    tiles: &Tiles,
    origin: &[usize],
    tile: &[usize],
    bytes: Vec<u8>,
    damage: &dyn Fn(String) -> Fault,
    take: &mut dyn FnMut(Piece) -> Result<()>,
) -> Result<(), Fault> {
    let elements = stored.array.decode_tile(tiles, bytes);
    let elements = elements.map_err(|error| damage(format!("has a bad inner chunk {tile:?}: {error}")))?;
    let offset = tile.iter().zip(&tiles.tile).zip(origin).map(|((&i, &t), &o)| o + i * t).collect();
    take(Piece { region: Region { offset, shape: tiles.tile.clone() }, elements })?;
    Ok(())
}

/// Where the tiles of a file are.
fn index_of(
    tiles: &Tiles,
    block: &[usize],
    size: u64,
    range: &dyn Fn(Range<u64>) -> Result<Vec<u8>, Fault>,
    damage: &dyn Fn(String) -> Fault,
) -> Result<Vec<Option<(u64, u64)>>, Fault> {
    let length = tiles.index_size(block).filter(|&length| length <= size);
    let length = length.ok_or_else(|| damage(format!("has {size} bytes, fewer than its index")))?;
    let bytes = range(if tiles.index_at_end { size - length..size } else { 0..length })?;
    tiles.decode_index(bytes, block).map_err(|error| damage(format!("has a bad index: {error}")))
}

/// Takes a tile: which it is, and its bytes.
type Each<'a> = dyn FnMut(&[usize], Vec<u8>) -> Result<(), Fault> + 'a;

/// Tiles that follow each other in a file, read at once.
#[derive(Default)]
struct Run {
    start: u64,
    end: u64,
    tiles: Vec<(Vec<usize>, Range<usize>)>,
}

impl Run {
    /// Whether a tile at these bytes may be read with those before it.
    fn takes(&self, offset: u64, end: u64) -> bool {
        self.tiles.is_empty() || (offset == self.end && end - self.start <= part_size() as u64)
    }

    fn push(&mut self, tile: Vec<usize>, offset: u64, end: u64) {
        if self.tiles.is_empty() {
            self.start = offset;
        }
        let at = |byte: u64| usize::try_from(byte - self.start).unwrap_or(usize::MAX);
        self.tiles.push((tile, at(offset)..at(end)));
        self.end = end;
    }

    /// Reads all of them, and begins anew.
    fn read(
        &mut self,
        range: &dyn Fn(Range<u64>) -> Result<Vec<u8>, Fault>,
        each: &mut Each<'_>,
    ) -> Result<(), Fault> {
        let tiles = std::mem::take(&mut self.tiles);
        if tiles.is_empty() {
            return Ok(());
        }
        let bytes = range(self.start..self.end)?;
        tiles.iter().try_for_each(|(tile, at)| each(tile, bytes[at.clone()].to_vec()))
    }
}
