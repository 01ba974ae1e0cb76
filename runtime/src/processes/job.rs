//! State shared by the threads of a process: its connections, received messages, the key-value store, and the collectives in progress.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::connect::connect_all;
use super::exchange::{Exchange, Members};
use super::frame::{Frame, Kind, MAX_KEY};
use super::mail::{Mail, lock};
use super::options::ProcessOptions;
use super::peer::{self, Listener, Peer};
use super::store::{self, Store};
use crate::error::{Result, RuntimeError};

/// The maximum time that a process leaving the job waits for its last messages to be sent.
const FAREWELL: Duration = Duration::from_secs(2);

/// The maximum length in bytes of the text about a failure that is sent to other processes.
const MAX_REASON: usize = 4096;

/// The state of one process of a job, which its threads share.
pub(crate) struct Job {
    pub(super) options: ProcessOptions,
    peers: Vec<Option<Peer>>,
    mail: Mail,
    store: Mutex<Store>,
    pub(crate) exchange: Exchange,
    /// The number of earlier calls of [`Job::all_gather`], by name.
    rounds: Mutex<HashMap<String, u64>>,
    questions: AtomicU64,
    leaving: AtomicBool,
    /// A channel that is disconnected when the writing threads of all connections have ended.
    farewell: Mutex<Receiver<()>>,
}

impl Job {
    /// Connects to all other processes.
    pub(super) fn connect(options: ProcessOptions) -> Result<Arc<Job>> {
        options.check()?;
        let connections = connect_all(&options)?;
        let (done, farewell) = channel();
        let mut queues = Vec::with_capacity(connections.len());
        let mut peers = Vec::with_capacity(connections.len());
        for (process, connection) in connections.into_iter().enumerate() {
            let Some(connection) = connection else {
                peers.push(None);
                continue;
            };
            let (outbox, queue) = channel();
            queues.push((process, queue));
            let name = format!("process {process} ({})", connection.address);
            peers.push(Some(Peer { outbox, stream: connection.stream, name }));
        }
        let job = Arc::new(Job {
            exchange: Exchange::new(options.index),
            options,
            peers,
            mail: Mail::default(),
            store: Mutex::default(),
            rounds: Mutex::default(),
            questions: AtomicU64::new(0),
            leaving: AtomicBool::new(false),
            farewell: Mutex::new(farewell),
        });
        for (process, queue) in queues {
            let Some(peer) = &job.peers[process] else { continue };
            peer::start(&job, process, &peer.stream, queue, Sender::clone(&done))
                .map_err(|error| RuntimeError::Processes(format!("{}: {error}", peer.name)))?;
        }
        Ok(job)
    }

    pub(crate) fn index(&self) -> usize {
        self.options.index
    }

    pub(crate) fn count(&self) -> usize {
        self.options.count
    }

    /// Returns an error if a process was lost.
    pub(crate) fn check(&self) -> Result<()> {
        self.mail.check()
    }

    /// Queues a message for a process.
    pub(super) fn send(&self, to: usize, frame: Frame) -> Result<()> {
        if frame.key.len() > MAX_KEY || frame.payload.len() > self.options.max_message {
            return Err(RuntimeError::Processes(format!(
                "a message of {} bytes with a key of {} bytes exceeds the limits of {} and {MAX_KEY} bytes",
                frame.payload.len(),
                frame.key.len(),
                self.options.max_message
            )));
        }
        if let Some(Some(peer)) = self.peers.get(to) {
            // Sending fails if the writing thread has ended; it has already recorded the reason.
            let _ = peer.outbox.send(frame);
        }
        Ok(())
    }

    fn send_to_all(&self, frame: &Frame) -> Result<()> {
        (0..self.peers.len()).try_for_each(|to| self.send(to, frame.clone()))
    }

    /// Records that a process is lost, and makes all waits for other processes fail.
    pub(super) fn lose(&self, process: usize, what: &str) {
        // A process that said goodbye is not lost when its connection closes.
        if self.mail.has_ended(process) {
            return;
        }
        if self.mail.note_loss(process, &format!("{} {what}", self.name(process))) {
            self.exchange.fail(self);
        }
    }

    /// Notifies all other processes that execution failed in this process, and makes all waits in this process fail.
    pub(crate) fn fail(&self, reason: &str) {
        if self.mail.check().is_ok() {
            let reason = self.report_failure(reason);
            self.lose(self.options.index, &format!("has failed: {reason}"));
        }
    }

    /// Sends the reason of this process's failure to all other processes; returns the reason, truncated to the maximum length.
    fn report_failure<'r>(&self, reason: &'r str) -> &'r str {
        let reason = &reason[..reason.floor_char_boundary(MAX_REASON)];
        let _ = self.send_to_all(&Frame::new(Kind::Failed, &[], reason.as_bytes().to_vec()));
        reason
    }

    fn name(&self, process: usize) -> String {
        match self.peers.get(process) {
            Some(Some(peer)) => peer.name.clone(),
            _ => format!("process {process}"),
        }
    }

    /// Sends `bytes` to all processes, and returns the bytes of each process, by index. Every process must call this function with the same
    /// name.
    pub(super) fn all_gather(&self, name: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.check()?;
        let round = {
            let mut rounds = lock(&self.rounds);
            let round = rounds.entry(name.to_owned()).or_insert(0);
            *round += 1;
            *round
        };
        let key = format!("gather/{round}/{name}").into_bytes();
        self.send_to_all(&Frame::new(Kind::Data, &key, bytes.to_vec()))?;
        let deadline = Instant::now().checked_add(self.options.time_limit);
        let mut gathered: Vec<Option<Vec<u8>>> = vec![None; self.count()];
        for (process, place) in gathered.iter_mut().enumerate() {
            *place = if process == self.index() {
                Some(bytes.to_vec())
            } else {
                self.mail.take(process, &key, deadline)?.map(|value| value.to_vec())
            };
        }
        let missing: Vec<usize> = (0..self.count()).filter(|&process| gathered[process].is_none()).collect();
        if missing.is_empty() {
            return Ok(gathered.into_iter().flatten().collect());
        }
        Err(RuntimeError::ProcessTimeout { what: name.to_owned(), limit: self.options.time_limit, missing })
    }

    /// Sets a value in the key-value store of process 0.
    pub(crate) fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check()?;
        if self.index() == 0 {
            self.put_here(key.to_vec(), Arc::new(value.to_vec()));
            return Ok(());
        }
        self.send(0, Frame::new(Kind::Put, key, value.to_vec()))
    }

    fn put_here(&self, key: Vec<u8>, value: Arc<Vec<u8>>) {
        let askers = lock(&self.store).put(key, value.clone());
        for asker in askers {
            self.answer(asker, Some(&value));
        }
    }

    fn look_up_for(&self, asker: (usize, u64), key: Vec<u8>, waits: bool) {
        let mut store = lock(&self.store);
        let value = store.get(&key);
        if value.is_none() && waits {
            store.wait(key, asker);
            return;
        }
        drop(store);
        self.answer(asker, value.as_deref().map(Vec::as_slice));
    }

    fn answer(&self, (to, number): (usize, u64), value: Option<&[u8]>) {
        let (key, payload) = (store::answer_key(number), store::answer(value));
        if to == self.index() {
            self.mail.deliver(to, key, Arc::new(payload));
        } else {
            // An error is impossible: `put` has rejected values that are too long for a message.
            let _ = self.send(to, Frame::new(Kind::Data, &key, payload));
        }
    }

    /// Looks up a value in the key-value store of process 0. If `patience` is set and the key has no value, waits for a value, but not
    /// longer than `patience`. Returns `None` if there is no value.
    pub(crate) fn get(&self, key: &[u8], patience: Option<Duration>) -> Result<Option<Vec<u8>>> {
        let number = self.questions.fetch_add(1, Ordering::Relaxed);
        let waits = patience.is_some();
        if self.index() == 0 {
            self.look_up_for((0, number), key.to_vec(), waits);
        } else {
            self.send(0, Frame::new(Kind::Get, key, store::question(waits, number)))?;
        }
        let deadline = Instant::now().checked_add(patience.unwrap_or(self.options.time_limit));
        let answer = self.mail.take(0, &store::answer_key(number), deadline)?;
        Ok(answer.and_then(|answer| store::read_answer(&answer)))
    }

    /// Sends a goodbye to all processes, and waits briefly until it is sent. If a process was lost, the others are first notified of the
    /// loss, so that they do not take this goodbye for a normal end.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        if let Err(lost) = self.mail.check() {
            self.report_failure(&lost.to_string());
        }
        let _ = self.send_to_all(&Frame::new(Kind::Goodbye, &[], Vec::new()));
        // Nothing is sent on this channel: the wait ends when the last writing thread drops its sender.
        let _ = lock(&self.farewell).recv_timeout(FAREWELL);
        for peer in self.peers.iter().flatten() {
            let _ = peer.stream.shutdown(Shutdown::Write);
        }
    }
}

impl Listener for Job {
    fn options(&self) -> &ProcessOptions {
        &self.options
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    fn receive(&self, from: usize, frame: Frame) {
        match frame.kind {
            Kind::Heartbeat | Kind::Goodbye => {}
            Kind::Data => self.mail.deliver(from, frame.key, frame.payload),
            Kind::Collective => self.exchange.receive(self, from, &frame.key, frame.payload),
            Kind::Failed => {
                self.lose(from, &format!("has failed: {}", String::from_utf8_lossy(&frame.payload)));
            }
            Kind::Put => self.put_here(frame.key, frame.payload),
            Kind::Get => {
                if let Some((waits, number)) = store::read_question(&frame.payload) {
                    self.look_up_for((from, number), frame.key, waits);
                }
            }
        }
    }

    fn ended(&self, process: usize) {
        self.mail.note_end(process, self.name(process));
        self.exchange.process_ended(self, process);
    }

    fn lose(&self, process: usize, what: &str) {
        Job::lose(self, process, what);
    }
}

impl Members for Job {
    fn count(&self) -> usize {
        Job::count(self)
    }

    fn check(&self) -> Result<()> {
        Job::check(self)
    }

    fn check_all(&self, needed: &mut dyn Iterator<Item = usize>) -> Result<()> {
        self.mail.check_all(needed)
    }

    fn send(&self, to: usize, frame: Frame) -> Result<()> {
        Job::send(self, to, frame)
    }

    fn lose(&self, process: usize, what: &str) {
        Job::lose(self, process, what);
    }

    fn fail(&self, reason: &str) {
        Job::fail(self, reason);
    }
}
