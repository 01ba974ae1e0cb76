//! The queue of regions to read. It assigns parts of regions to reader threads, and limits the total size of the regions in memory.
//!
//! A region is divided into bands, which are contiguous in memory and end at tile boundaries. So several readers can fill one region
//! without an additional copy.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use crate::checkpoint::Stored;
use crate::region::Region;

/// A requested region.
pub(super) struct Slot<'a> {
    pub(super) stored: &'a Stored,
    pub(super) region: &'a Region,
    /// The size of the elements of the region in bytes.
    pub(super) bytes: usize,
    /// The memory in bytes that readers need for this region, in addition to its elements.
    pub(super) beside: usize,
}

/// A part of a region that one reader fills.
pub(super) struct Band {
    pub(super) slot: usize,
    number: usize,
    pub(super) region: Region,
    pub(super) elements: BytesMut,
}

/// A queue from which reader threads take bands to fill, and from which one consumer thread takes complete regions in order.
pub(super) struct Queue<'a> {
    slots: &'a [Slot<'a>],
    /// The maximum size in bytes of all regions in memory; a single region may exceed it.
    limit: usize,
    /// Approximate size of a band in bytes.
    band: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of regions whose reading has started.
    begun: usize,
    /// The bytes of regions whose reading has started, and that the consumer has not released yet.
    held: usize,
    bands: VecDeque<Band>,
    regions: BTreeMap<usize, Filling>,
    /// The memory of a released region, which is reused for another region, because page faults on newly allocated memory take longer than
    /// reading.
    spare: Option<Vec<u8>>,
    is_stopped: bool,
}

/// A region whose reading has started, with the bands that are already filled.
struct Filling {
    left: usize,
    bands: Vec<BytesMut>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(slots: &'a [Slot<'a>], limit: usize, band: usize) -> Queue<'a> {
        Queue { slots, limit, band, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'b>(&'b self, state: MutexGuard<'b, State>) -> MutexGuard<'b, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next band to fill, and waits for memory if necessary; `None` if there is nothing left to read.
    pub(super) fn next(&self) -> Option<Band> {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return None;
            }
            if let Some(band) = state.bands.pop_front() {
                return Some(band);
            }
            let slot = self.slots.get(state.begun)?;
            let bytes = slot.bytes.saturating_add(slot.beside);
            if state.held == 0 || state.held.saturating_add(bytes) <= self.limit {
                state.held = state.held.saturating_add(bytes);
                self.begin(&mut state, slot);
                self.changed.notify_all();
            } else {
                state = self.wait(state);
            }
        }
    }

    /// Starts the next region: allocates its memory and divides it into bands.
    fn begin(&self, state: &mut State, slot: &Slot<'_>) {
        let number = state.begun;
        state.begun += 1;
        let tile = slot.stored.array.tiles.as_ref().map_or(&slot.stored.array.block, |tiles| &tiles.tile);
        let width = slot.stored.entry.dtype.bytes();
        let regions = bands(slot.region, tile, width, self.band);
        let mut rest = memory(state.spare.take(), slot.bytes);
        state
            .regions
            .insert(number, Filling { left: regions.len(), bands: vec![BytesMut::new(); regions.len()] });
        state.bands.extend(regions.into_iter().enumerate().map(|(i, region)| {
            let elements = rest.split_to(region.elements() * width);
            Band { slot: number, number: i, region, elements }
        }));
    }

    /// Returns a filled band to the queue.
    pub(super) fn filled(&self, band: Band) {
        let mut state = self.lock();
        if let Some(region) = state.regions.get_mut(&band.slot) {
            region.left -= 1;
            region.bands[band.number] = band.elements;
            if region.left == 0 {
                self.changed.notify_all();
            }
        }
    }

    /// Waits until the region with index `slot` is filled, and returns its elements; `None` if reading was stopped.
    pub(super) fn whole(&self, slot: usize) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return None;
            }
            if state.regions.get(&slot).is_some_and(|region| region.left == 0) {
                let bands = state.regions.remove(&slot).map(|region| region.bands).unwrap_or_default();
                // The bands are parts of one allocation, so they are joined without a copy.
                let joined = bands.into_iter().reduce(|mut front, back| {
                    front.unsplit(back);
                    front
                });
                return Some(joined.map_or_else(Vec::new, Vec::from));
            }
            state = self.wait(state);
        }
    }

    /// Releases the memory of the region with index `slot`, which may be reused for another region.
    pub(super) fn give_back(&self, slot: usize, elements: Vec<u8>) {
        let Slot { bytes, beside, .. } = self.slots[slot];
        let mut state = self.lock();
        state.held = state.held.saturating_sub(bytes.saturating_add(beside));
        state.spare = (elements.capacity() > 0).then_some(elements);
        self.changed.notify_all();
    }

    /// Stops reading, and wakes all waiting threads.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }
}

/// Allocates memory, or reuses the spare memory if its size fits.
fn memory(spare: Option<Vec<u8>>, bytes: usize) -> BytesMut {
    match spare.filter(|spare| spare.capacity() >= bytes && spare.capacity() - bytes <= bytes / 8) {
        Some(mut spare) => {
            spare.resize(bytes, 0);
            BytesMut::from(Bytes::from(spare))
        }
        None => BytesMut::zeroed(bytes),
    }
}

/// Divides a region along the first dimension with more than one element, at tile boundaries, into bands of about `size` bytes.
fn bands(region: &Region, tile: &[usize], width: usize, size: usize) -> Vec<Region> {
    if region.elements() == 0 {
        return Vec::new();
    }
    let Some(dim) = region.shape.iter().position(|&n| n > 1) else { return vec![region.clone()] };
    let bytes = region.shape[dim + 1..].iter().product::<usize>() * width;
    let rows = tile[dim] * (size / bytes.saturating_mul(tile[dim])).max(1);
    let (mut start, stop) = (region.offset[dim], region.offset[dim] + region.shape[dim]);
    let mut bands = Vec::new();
    while start < stop {
        let end = (start / tile[dim] * tile[dim] + rows).min(stop);
        let mut band = region.clone();
        (band.offset[dim], band.shape[dim]) = (start, end - start);
        bands.push(band);
        start = end;
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_end_at_tile_boundaries() {
        let of = |offset: &[usize], shape: &[usize]| Region { offset: offset.into(), shape: shape.into() };
        let cut = bands(&of(&[0, 3, 0], &[1, 10, 8]), &[1, 4, 8], 2, 128);
        assert_eq!(cut, [of(&[0, 3, 0], &[1, 5, 8]), of(&[0, 8, 0], &[1, 5, 8])]);
        let cut = bands(&of(&[3], &[6]), &[4], 1, 1);
        assert_eq!(cut, [of(&[3], &[1]), of(&[4], &[4]), of(&[8], &[1])]);
        assert_eq!(bands(&of(&[], &[]), &[], 4, 1), [of(&[], &[])]);
        assert_eq!(bands(&of(&[2, 0], &[0, 4]), &[1, 4], 4, 1), []);
    }

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let address = |bytes: &[u8]| bytes.as_ptr();
        let spare = vec![7; 1000];
        let at = address(&spare);
        let mut first = memory(Some(spare), 960);
        let second = first.split_off(500);
        first.unsplit(second);
        let whole = Vec::from(first);
        assert_eq!((address(&whole), whole.len()), (at, 960));
        assert_eq!(memory(Some(whole), 10)[..], [0; 10]);
    }
}
