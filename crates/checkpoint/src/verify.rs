//! Reads an entire checkpoint and verifies its checksums.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::checkpoint::Checkpoint;
use crate::checksum::crc32c;
use crate::error::{Damage, Result};
use crate::parallel;
use crate::read::{self, Fault, Room};
use crate::region::Region;
use crate::save::Progress;
use crate::store::{join, part_size};

/// The number of files that are read concurrently.
const READERS: usize = 4;

impl Checkpoint {
    /// Reads all files of the checkpoint and verifies their checksums and sizes. Returns all damage that was found; the list is empty if
    /// the checkpoint is intact.
    ///
    /// # Errors
    /// The store fails (SH1301).
    pub fn verify(&self, progress: Option<&Progress<'_>>) -> Result<Vec<Damage>> {
        let mut damages = BTreeSet::new();
        for (object, &checksum) in &self.checksums {
            let what = match self.store.get(&join(&self.path, object))? {
                None => "is missing",
                Some(bytes) if crc32c(&bytes) != checksum => "has a wrong checksum",
                Some(_) => continue,
            };
            damages.insert(Damage { entry: String::new(), object: object.clone(), what: what.to_owned() });
        }
        let wholes: Vec<Region> = self.entries().map(|entry| Region::whole(&entry.shape)).collect();
        let blocks = self.arrays.iter().zip(&wholes).flat_map(|(stored, whole)| {
            let grid = stored.entry.grid();
            grid.touched(whole).map(move |index| (stored, whole, grid.region(&index), index))
        });
        let blocks: Vec<_> = blocks.collect();
        let done = AtomicU64::new(0);
        let look = |number: usize| {
            let (stored, whole, region, index) = &blocks[number];
            let damage = match read::block(self, stored, index, whole, None, &mut Room::new(), part_size()) {
                Ok(()) => None,
                Err(Fault::Damage(damage)) => Some(damage),
                Err(Fault::Error(error)) => return Err(error),
            };
            let bytes = (region.elements() * stored.entry.dtype.bytes()) as u64;
            let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if let Some(progress) = progress {
                progress(done, self.bytes());
            }
            Ok(damage)
        };
        damages.extend(parallel::each(READERS, blocks.len(), &look)?.into_iter().flatten());
        Ok(damages.into_iter().collect())
    }
}
