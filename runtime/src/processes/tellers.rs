//! Threads that tell devices of their results, one for each device.
//!
//! Who completes the future that a device waits for runs what XLA does next on that device, which may be a collective that waits
//! for this process's other devices. So no thread tells two devices, and none that reads messages tells any.
//!
//! One thread for each device is enough: XLA begins the collectives of a program in one order on all devices. If devices wait in
//! some, take the earliest of these. Those that have not come to it wait in none before it, so their threads are free to tell
//! them; and what they are to be told waits for no device that is behind, because all that have come to the collective have done
//! all that it depends on.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use super::mail::lock;

type Telling = Box<dyn FnOnce() + Send>;

/// The threads, which start with the first thing that their device is told.
#[derive(Default)]
pub(super) struct Tellers {
    threads: Mutex<HashMap<usize, Sender<Telling>>>,
}

impl Tellers {
    /// Has `telling` called on the thread of a device.
    pub(super) fn tell(&self, device: usize, telling: impl FnOnce() + Send + 'static) {
        let mut threads = lock(&self.threads);
        let mut telling: Telling = Box::new(telling);
        if let Some(thread) = threads.get(&device) {
            match thread.send(telling) {
                Ok(()) => return,
                Err(unsent) => telling = unsent.0,
            }
        }
        let (queue, tellings) = channel::<Telling>();
        let run = move || tellings.into_iter().for_each(|telling| telling());
        let started = std::thread::Builder::new().name(format!("shardc-answer-{device}")).spawn(run);
        if started.is_ok() {
            let _ = queue.send(telling);
            threads.insert(device, queue);
        } else {
            // What is dropped tells the device that it gets nothing.
            drop(telling);
        }
    }
}
