//! Reading the slices that a process needs.

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

/// Threads that read files of a folder, at least: more than cores wait for a disk.
const READERS: usize = 4;

/// The most bytes of a region that one thread reads, from a folder.
const BAND: usize = 16 << 20;

/// Bytes that readers need for themselves, all together.
const OWN: usize = 2 << 20;

/// Threads that ask an object store, each for one thing at a time.
const REMOTE_READERS: usize = 8;

/// An array that is wanted, and the parts of it that this process needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name, as whoever wants it has it.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The global shape.
    pub shape: Vec<usize>,
    /// Boxes of the array, which may overlap; none where this process needs nothing of it.
    pub regions: Vec<Region>,
}

/// How a checkpoint is fitted to what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// The name in the checkpoint of what is wanted under another name.
    pub names: BTreeMap<String, String>,
    /// Whether arrays may be missing from the checkpoint; they are then left as they are.
    pub may_lack: bool,
    /// Whether the checkpoint may have arrays that are not wanted.
    pub may_have_more: bool,
}

impl Fit {
    /// Takes what both have, and leaves the rest.
    #[must_use]
    pub fn partial() -> Fit {
        Fit { may_lack: true, may_have_more: true, ..Fit::default() }
    }
}

/// Takes the elements of a region, row-major: number of the wanted array, number of its region, the elements. Who keeps them takes
/// the vector away (`std::mem::take`); the memory of one that is left is used for another region.
pub type Take<'a> = dyn FnMut(usize, usize, &mut Vec<u8>) -> std::result::Result<(), String> + 'a;

impl Checkpoint {
    /// Reads regions of arrays, whatever sharding and number of processes saved them. Only tiles of files are read that have
    /// elements of a region, and each is compared with its checksum. `take` is called once for each region of an array that
    /// the checkpoint has, in order.
    ///
    /// Regions that are read ahead and the one that is taken have together no more bytes than twice the largest region; with what
    /// readers need beside them where chunks are compressed, as Orbax does it, or where the store is no folder, unless one region
    /// alone needs more.
    ///
    /// # Errors
    /// The checkpoint has not what is wanted (SH1309: all that is missing, unexpected or misshaped), nothing was taken then; files
    /// are damaged (SH1308, all that were met); `take` refuses (SH1304); the store does (SH1301).
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
                // After damage all the rest is looked at, and nothing more is given.
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

    /// The stored array of each wanted one; `None` where it may be missing.
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
                    let text = format!("{name} is {} and not {}{:?}", entry.ty(), want.dtype, want.shape);
                    mismatch.misshaped.push(text);
                } else if let Some(region) = want.regions.iter().find(|region| !region.fits(&entry.shape)) {
                    let text = format!("{name} is {} and has no {region}", entry.ty());
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
    /// The bytes of each region.
    fn bytes(&self) -> impl Iterator<Item = usize> + '_ {
        self.regions.iter().map(|region| region.elements().saturating_mul(self.dtype.bytes()))
    }
}

/// How regions are read.
struct Reading {
    readers: usize,
    /// The bytes that are in memory at a time.
    limit: usize,
    /// Bytes of a region that one thread reads.
    band: usize,
    /// The bytes that an object store is asked for at once.
    run: usize,
}

impl Reading {
    /// From a folder or not, where the largest region has so many bytes.
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

    /// The bytes that are needed beside a region: chunks that are compressed are in memory as they are in the file, and as elements.
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

/// Ends the wait of other threads where one panics.
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
