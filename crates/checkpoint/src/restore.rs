//! Reading the slices that a process needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use shardc_ir::DType;

use crate::checkpoint::{Checkpoint, Stored};
use crate::error::{CheckpointError, Damage, Mismatch, Result};
use crate::read::{self, Fault, Piece};
use crate::region::{Region, copy};
use crate::save::Progress;
use crate::store::join;

/// Files that are read side by side.
const READERS: usize = 4;

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

/// Takes the elements of a region, row-major: number of the wanted array, number of its region, the elements.
pub type Take<'a> = dyn FnMut(usize, usize, Vec<u8>) -> std::result::Result<(), String> + 'a;

impl Checkpoint {
    /// Reads regions of arrays, whatever sharding and number of processes saved them. Only tiles of files are read that have
    /// elements of a region, and each is compared with its checksum. `take` is called once for each region of an array that
    /// the checkpoint has, in order; one region is in memory at a time, beside what is read ahead.
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
        let all = |(want, _): &(&Wanted, _)| -> u64 {
            want.regions.iter().map(|r| (r.elements() * want.dtype.bytes()) as u64).sum()
        };
        let total: u64 = wanted.iter().zip(&found).filter(|(_, f)| f.is_some()).map(|pair| all(&pair)).sum();
        let mut tasks = Vec::new();
        let mut expected = Vec::new();
        for (number, (want, stored)) in wanted.iter().zip(&found).enumerate() {
            let Some(stored) = *stored else { continue };
            for (region_number, region) in want.regions.iter().enumerate() {
                let blocks: Vec<Vec<usize>> = stored.entry.grid().touched(region).collect();
                expected.push((number, region_number, blocks.len()));
                tasks.extend(blocks.into_iter().map(|index| Task {
                    slot: expected.len() - 1,
                    stored,
                    index,
                    region,
                }));
            }
        }
        let mut damages = BTreeSet::new();
        let mut done = 0u64;
        let mut finish = |slot: usize, elements: Vec<u8>| -> Result<()> {
            let (number, region, _) = expected[slot];
            done += elements.len() as u64;
            take(number, region, elements).map_err(|reason| CheckpointError::Values {
                entry: format!("{}{}", wanted[number].name, wanted[number].regions[region]),
                reason,
            })?;
            if let Some(progress) = progress {
                progress(done, total);
            }
            Ok(())
        };
        let mut open: BTreeMap<usize, (Vec<u8>, usize)> = BTreeMap::new();
        let buffer = |slot: usize| {
            let (number, region, blocks) = expected[slot];
            let want = &wanted[number];
            (vec![0u8; want.regions[region].elements() * want.dtype.bytes()], blocks)
        };
        let mut next = 0;
        self.run(&tasks, &mut |message| {
            match message {
                Message::Piece(task, piece) => {
                    let Task { slot, stored, region, .. } = &tasks[task];
                    let (elements, _) = open.entry(*slot).or_insert_with(|| buffer(*slot));
                    copy(&piece.elements, &piece.region, elements, region, stored.entry.dtype.bytes());
                    return Ok(());
                }
                Message::Damage(damage) => {
                    damages.insert(damage);
                    return Ok(());
                }
                Message::Done(task) => {
                    let slot = tasks[task].slot;
                    open.entry(slot).or_insert_with(|| buffer(slot)).1 -= 1;
                }
            }
            // Regions are handed over in order.
            while next < expected.len() && damages.is_empty() {
                if expected[next].2 > 0 && open.get(&next).is_none_or(|(_, left)| *left > 0) {
                    break;
                }
                let (elements, _) = open.remove(&next).unwrap_or_else(|| buffer(next));
                finish(next, elements)?;
                next += 1;
            }
            Ok(())
        })?;
        if !damages.is_empty() {
            return Err(CheckpointError::Damaged(damages.into_iter().collect()));
        }
        // Regions without elements at the end, which no file is read for.
        (next..expected.len()).try_for_each(|slot| finish(slot, buffer(slot).0))
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

    /// Reads files in the order of the tasks, several side by side, and hands on what comes of it to one thread.
    fn run(&self, tasks: &[Task<'_>], handle: &mut dyn FnMut(Message) -> Result<()>) -> Result<()> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        // A bound keeps readers from running ahead of who takes.
        let (sender, receiver) = mpsc::sync_channel::<Result<Message>>(READERS);
        let gone = || CheckpointError::Process("nobody takes what is read".to_owned());
        let work = |sender: mpsc::SyncSender<Result<Message>>| {
            while !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(number) else { return };
                let mut give =
                    |piece: Piece| sender.send(Ok(Message::Piece(number, piece))).map_err(|_| gone());
                let outcome = match read::block(self, task.stored, &task.index, task.region, &mut give) {
                    Ok(()) => Ok(Message::Done(number)),
                    Err(Fault::Damage(damage)) => Ok(Message::Damage(damage)),
                    Err(Fault::Error(error)) => Err(error),
                };
                if sender.send(outcome).is_err() {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..READERS.min(tasks.len()) {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            let outcome = receiver.iter().try_for_each(|message| handle(message?));
            stop.store(true, Ordering::Relaxed);
            drop(receiver);
            outcome
        })
    }

    /// Reads everything, and compares it with what was written. Returns all that is damaged; nothing where the checkpoint is as it
    /// was written.
    ///
    /// # Errors
    /// The store refuses (SH1301).
    pub fn verify(&self, progress: Option<&Progress<'_>>) -> Result<Vec<Damage>> {
        let mut damages = BTreeSet::new();
        for (object, &checksum) in &self.checksums {
            let what = match self.store.get(&join(&self.path, object))? {
                None => "is missing",
                Some(bytes) if crc32c::crc32c(&bytes) != checksum => "has a wrong checksum",
                Some(_) => continue,
            };
            damages.insert(Damage { entry: String::new(), object: object.clone(), what: what.to_owned() });
        }
        let wholes: Vec<Region> = self.entries().map(|entry| Region::whole(&entry.shape)).collect();
        let mut tasks = Vec::new();
        for (slot, (stored, whole)) in self.arrays.iter().zip(&wholes).enumerate() {
            let blocks = stored.entry.grid().touched(whole);
            tasks.extend(blocks.map(|index| Task { slot, stored, index, region: whole }));
        }
        let mut done = 0;
        self.run(&tasks, &mut |message| {
            match message {
                Message::Piece(_, piece) => done += piece.elements.len() as u64,
                Message::Damage(damage) => drop(damages.insert(damage)),
                Message::Done(_) => {
                    if let Some(progress) = progress {
                        progress(done, self.bytes());
                    }
                }
            }
            Ok(())
        })?;
        Ok(damages.into_iter().collect())
    }
}

/// A file to be read.
struct Task<'a> {
    /// What it is read for.
    slot: usize,
    stored: &'a Stored,
    index: Vec<usize>,
    region: &'a Region,
}

/// What readers say.
enum Message {
    Piece(usize, Piece),
    Damage(Damage),
    Done(usize),
}
