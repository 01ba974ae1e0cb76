//! Restores arrays: reads the regions that a process needs from a checkpoint.

mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use shardc_ir::DType;

use self::queue::{Queue, Slot};
use crate::checkpoint::{Checkpoint, Stored};
use crate::error::{CheckpointError, Mismatch, Result};
use crate::parallel;
use crate::read::{self, Fault, Room};
use crate::region::Region;
use crate::save::Progress;
use crate::store::part_size;

/// The minimum number of threads that read files of a folder: there may be more threads than cores, because threads wait for the disk.
const READERS: usize = 4;

/// The maximum size in bytes of a band, the part of a region that one thread reads at a time, for a store in a folder.
const BAND: usize = 16 << 20;

/// The memory in bytes that all readers together need for their own buffers.
const OWN: usize = 2 << 20;

/// The number of threads that send requests to an object store; each sends one request at a time.
const REMOTE_READERS: usize = 8;

/// A requested array, and its regions that this process needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The caller's name for the array.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The global shape.
    pub shape: Vec<usize>,
    /// The regions that this process needs, which may overlap; empty if it needs no elements.
    pub regions: Vec<Region>,
}

/// The rules for matching requested arrays with the arrays of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Maps the name of a requested array to its name in the checkpoint, if they differ.
    pub names: BTreeMap<String, String>,
    /// Whether requested arrays may be missing from the checkpoint; missing arrays are not restored.
    pub may_lack: bool,
    /// Whether the checkpoint may have arrays that are not requested.
    pub may_have_more: bool,
}

impl Fit {
    /// Permits missing and additional arrays: the requested arrays that the checkpoint has are read.
    #[must_use]
    pub fn partial() -> Fit {
        Fit { may_lack: true, may_have_more: true, ..Fit::default() }
    }
}

/// A callback that receives the elements of a region. The arguments are the index of the requested array, the index of the region in
/// [`Wanted::regions`], and the elements, row-major. To keep the vector, take it (`std::mem::take`); otherwise its memory is reused for
/// another region.
pub type Take<'a> = dyn FnMut(usize, usize, &mut Vec<u8>) -> std::result::Result<(), String> + 'a;

impl Checkpoint {
    /// Reads regions of arrays, regardless of the sharding and number of processes that saved them. Only tiles (inner chunks of files) that
    /// overlap a region are read, and each is verified by its checksum. `take` is called once for each region of each array that the
    /// checkpoint has, in the order of `wanted`.
    ///
    /// The current region and regions that are read ahead together take at most twice the bytes of the largest region, unless a single
    /// region needs more. This limit includes the readers' buffers if chunks are compressed, as Orbax writes them, or if the store is
    /// not a folder.
    ///
    /// # Errors
    /// The checkpoint does not match the request (SH1309: all missing, unexpected or misshaped arrays), and `take` was not called; files
    /// are damaged (SH1308, with all damaged files found); `take` fails (SH1304); the store fails (SH1301).
    pub fn restore(
        &self,
        wanted: &[Wanted],
        fit: &Fit,
        take: &mut Take<'_>,
        progress: Option<&Progress<'_>>,
    ) -> Result<()> {
        let found = self.fitted(wanted, fit)?;
        let largest = wanted.iter().flat_map(Wanted::bytes).max().unwrap_or(0);
        let reading = Reading::new(self.store.is_folder(), largest);
        let (mut slots, mut numbers) = (Vec::new(), Vec::new());
        for (number, (want, stored)) in wanted.iter().zip(&found).enumerate() {
            let Some(stored) = *stored else { continue };
            for (region_number, (region, bytes)) in want.regions.iter().zip(want.bytes()).enumerate() {
                slots.push(Slot { stored, region, bytes, beside: reading.beside(stored, region) });
                numbers.push((number, region_number));
            }
        }
        let total = slots.iter().map(|slot| slot.bytes as u64).sum();
        let queue = Queue::new(&slots, reading.limit, reading.band);
        let (damages, error) = (Mutex::new(BTreeSet::new()), Mutex::new(None));
        let read = || {
            let _guard = StopOnPanic(&queue);
            let mut room = Room::new();
            while let Some(mut band) = queue.next() {
                let stored = slots[band.slot].stored;
                for index in stored.entry.grid().touched(&band.region) {
                    let (region, elements) = (&band.region, Some(&mut band.elements[..]));
                    match read::block(self, stored, &index, region, elements, &mut room, reading.run) {
                        Ok(()) => {}
                        Err(Fault::Damage(damage)) => drop(lock(&damages).insert(damage)),
                        Err(Fault::Error(why)) => {
                            lock(&error).get_or_insert(why);
                            return queue.stop();
                        }
                    }
                }
                queue.filled(band);
            }
        };
        let mut done = 0;
        let mut take_all = || -> Result<()> {
            for (slot, &(number, region)) in numbers.iter().enumerate() {
                let Some(mut elements) = queue.whole(slot) else { break };
                // After the first damaged file, the remaining files are only verified.
                if lock(&damages).is_empty() {
                    done += slots[slot].bytes as u64;
                    take(number, region, &mut elements).map_err(|reason| CheckpointError::Values {
                        entry: format!("{}{}", wanted[number].name, wanted[number].regions[region]),
                        reason,
                    })?;
                    if let Some(progress) = progress {
                        progress(done, total);
                    }
                }
                queue.give_back(slot, elements);
            }
            Ok(())
        };
        let taken = std::thread::scope(|scope| {
            let _guard = StopOnPanic(&queue);
            (0..reading.readers).for_each(|_| drop(scope.spawn(read)));
            let taken = take_all();
            queue.stop();
            taken
        });
        if let Some(error) = error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        taken?;
        let damages = damages.into_inner().unwrap_or_else(PoisonError::into_inner);
        if damages.is_empty() {
            return Ok(());
        }
        Err(CheckpointError::Damaged(damages.into_iter().collect()))
    }

    /// Matches each requested array with an array of the checkpoint. Returns `None` for a missing array if `fit` permits missing
    /// arrays; otherwise a missing array is an error.
    fn fitted(&self, wanted: &[Wanted], fit: &Fit) -> Result<Vec<Option<&Stored>>> {
        let by_name: BTreeMap<&str, &Stored> =
            self.arrays.iter().map(|stored| (stored.entry.name.as_str(), stored)).collect();
        let mut mismatch = Mismatch::default();
        let mut asked = BTreeSet::new();
        let mut found = Vec::new();
        for want in wanted {
            let name = fit.names.get(&want.name).unwrap_or(&want.name).as_str();
            asked.insert(name);
            let stored = by_name.get(name).copied();
            if stored.is_none() && !fit.may_lack {
                mismatch.missing.push(name.to_owned());
            }
            if let Some(Stored { entry, .. }) = stored {
                if (entry.dtype, &entry.shape) != (want.dtype, &want.shape) {
                    let text = format!("{name} is {}, expected {}{:?}", entry.ty(), want.dtype, want.shape);
                    mismatch.misshaped.push(text);
                } else if let Some(region) = want.regions.iter().find(|region| !region.fits(&entry.shape)) {
                    let text =
                        format!("{name} is {}, which does not contain the region {region}", entry.ty());
                    mismatch.misshaped.push(text);
                }
            }
            found.push(stored);
        }
        if !fit.may_have_more {
            let more = self.entries().map(|entry| &entry.name).filter(|name| !asked.contains(name.as_str()));
            mismatch.unexpected.extend(more.cloned());
        }
        if mismatch.is_empty() { Ok(found) } else { Err(CheckpointError::Mismatch(mismatch)) }
    }
}

impl Wanted {
    /// Returns the size of the elements of each region in bytes.
    fn bytes(&self) -> impl Iterator<Item = usize> + '_ {
        self.regions.iter().map(|region| region.elements().saturating_mul(self.dtype.bytes()))
    }
}

/// Parameters for reading regions: the number of threads, and sizes in bytes.
struct Reading {
    readers: usize,
    /// The maximum number of bytes of regions that are in memory at a time.
    limit: usize,
    /// The approximate size in bytes of the part of a region that one thread reads at a time.
    band: usize,
    /// The number of bytes per request to an object store.
    run: usize,
}

impl Reading {
    /// Chooses the parameters for reading; `is_folder` is false for an object store, and `largest` is the size of the largest region
    /// in bytes.
    fn new(is_folder: bool, largest: usize) -> Reading {
        let limit = largest.saturating_mul(2).saturating_sub(OWN).max(largest);
        if is_folder {
            let readers = parallel::threads(READERS, 16);
            return Reading { readers, limit, band: (largest / readers).clamp(1 << 20, BAND), run: 0 };
        }
        let run = (largest / (2 * REMOTE_READERS)).clamp(1 << 20, part_size());
        let limit = limit.saturating_sub(REMOTE_READERS * run).max(largest);
        Reading { readers: REMOTE_READERS, limit, band: part_size(), run }
    }

    /// Returns the memory in bytes needed to read a region, in addition to its elements: compressed chunks are in memory both encoded and
    /// decoded.
    fn beside(&self, stored: &Stored, region: &Region) -> usize {
        let array = &stored.array;
        let (tile, plain) = match &array.tiles {
            Some(tiles) => (&tiles.tile, tiles.plain),
            None => (&array.block, array.plain),
        };
        if plain.is_some() {
            return 0;
        }
        let tiles = region.shape.iter().zip(tile).map(|(&n, &t)| n.div_ceil(t)).product::<usize>();
        let bytes = tile.iter().product::<usize>().saturating_mul(array.dtype.bytes());
        bytes.saturating_mul(2 * tiles.min(self.readers))
    }
}

/// Stops reading when this thread panics, so that the other threads do not wait forever.
struct StopOnPanic<'a, 'b>(&'a Queue<'b>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
