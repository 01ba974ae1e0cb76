//! Threads that deliver the results of collectives to devices, one thread for each device.
//!
//! When the future for which a device waits is completed, XLA runs the next work of that device on the thread that completed the future.
//! That work may be a collective that waits for this process's other devices. So no thread may deliver results to two devices, and the
//! threads that read messages must not deliver any results.
//!
//! One thread per device suffices, because XLA starts the collectives of a program in the same order on all devices. Consider the earliest
//! collective in which devices wait. Devices that have not arrived at it do not wait in an earlier collective, so their threads are free to
//! deliver to them. The results that they wait for do not depend on devices that have executed less of the program: all devices that have
//! arrived at a collective have done everything on which it depends.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use super::mail::lock;

type Telling = Box<dyn FnOnce() + Send>;

/// The threads that deliver results, by device index. Each starts with the first delivery to its device.
#[derive(Default)]
pub(super) struct Tellers {
    threads: Mutex<HashMap<usize, Sender<Telling>>>,
}

impl Tellers {
    /// Runs `telling` on the thread that delivers results to this device.
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
            // The thread cannot be started. Dropping the callback reports an error to the device.
            drop(telling);
        }
    }
}
