//! The cross-process collectives that are in progress.
//!
//! A device that arrives at a collective does not block. It registers its operands and a callback, and XLA continues with work that does
//! not need the result. When all devices of a group in this process have arrived, this process sends their data to the other processes.
//! When the data of the other processes has arrived, the results are delivered. So devices may arrive in any order without deadlock.
//!
//! A meeting is one execution of a collective by one group. It is identified by the launch, the collective's channel in the program, the
//! number of earlier executions by the device in this launch (in loops), and the group. Launches are numbered in each process, so that the
//! n-th launch of one process belongs to the n-th launch of another. At each launch, the processes check that they launch the same program.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use super::compute::{Meeting, Operands};
use super::frame::{Frame, Kind};
use super::mail::lock;
use super::spec::Spec;
use super::tellers::Tellers;
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;

/// The callback that receives the results of a collective for one device, or an error.
pub(crate) type Answer = Box<dyn FnOnce(Result<Vec<HostArray>>) + Send>;

/// The operations on a job's processes that collectives need.
pub(crate) trait Members {
    /// The number of processes.
    fn count(&self) -> usize;

    /// Returns an error if a process was lost.
    fn check(&self) -> Result<()>;

    /// Returns an error if a process was lost, or if one of the `needed` processes has ended.
    fn check_all(&self, needed: &mut dyn Iterator<Item = usize>) -> Result<()>;

    /// Queues a message for a process.
    fn send(&self, to: usize, frame: Frame) -> Result<()>;

    /// Records that a process is lost, and makes all waits for other processes fail.
    fn lose(&self, process: usize, what: &str);

    /// Notifies all other processes that execution failed in this process, and makes all waits in this process fail.
    fn fail(&self, reason: &str);
}

/// The key that identifies a meeting (an execution of a collective by one group): the launch, the channel, the number of earlier executions
/// by the device, and the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    launch: u64,
    channel: u64,
    visit: u64,
    group: u64,
}

/// The first byte of the key of a message about a launch. The key of a message about a collective begins with [`MEETING`].
const LAUNCH: u8 = 0;
const MEETING: u8 = 1;

impl Key {
    fn write(self) -> Vec<u8> {
        let mut bytes = vec![MEETING];
        for number in [self.launch, self.channel, self.visit, self.group] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Key> {
        let mut numbers = bytes.chunks_exact(8).filter_map(|n| Some(u64::from_le_bytes(n.try_into().ok()?)));
        let key = Key {
            launch: numbers.next()?,
            channel: numbers.next()?,
            visit: numbers.next()?,
            group: numbers.next()?,
        };
        (bytes.len() == 32).then_some(key)
    }
}

/// The state of a meeting (an execution of a collective by one group) that is not complete yet.
#[derive(Default)]
struct Open {
    spec: Option<Arc<Spec>>,
    operands: Operands,
    answers: Vec<(usize, Answer)>,
    /// The messages of other processes that have arrived, by process index.
    arrived: BTreeMap<usize, Vec<u8>>,
    is_sent: bool,
}

#[derive(Default)]
struct State {
    meetings: HashMap<Key, Open>,
    /// The number of times that a device arrived at a collective in a launch, by launch, channel and device index.
    visits: HashMap<(u64, u64, usize), u64>,
    /// The parsed descriptions of collectives, by their text.
    specs: HashMap<String, Arc<Spec>>,
    launches: u64,
    /// The ID of the program of each launch in this process and in others, by process index and launch number.
    programs: HashMap<(usize, u64), u64>,
}

/// The collectives in progress of a process.
pub(crate) struct Exchange {
    process: usize,
    state: Mutex<State>,
    tellers: Tellers,
}

impl Exchange {
    pub(super) fn new(process: usize) -> Exchange {
        Exchange { process, state: Mutex::default(), tellers: Tellers::default() }
    }

    /// Registers a launch of the program with the ID `program`, which is a hash of its text, and notifies the other processes. Returns the
    /// number of the launch.
    pub(crate) fn begin(&self, job: &dyn Members, program: u64) -> Result<u64> {
        job.check_all(&mut (0..job.count()))?;
        let launch = {
            let mut state = lock(&self.state);
            state.launches += 1;
            let launch = state.launches;
            state.programs.insert((self.process, launch), program);
            launch
        };
        let mut key = vec![LAUNCH];
        key.extend_from_slice(&launch.to_le_bytes());
        let frame = Frame::new(Kind::Collective, &key, program.to_le_bytes().to_vec());
        for process in (0..job.count()).filter(|&process| process != self.process) {
            job.send(process, frame.clone())?;
            self.compare(job, process, launch);
        }
        Ok(launch)
    }

    /// Removes the state of a launch.
    pub(crate) fn end(&self, launch: u64) {
        let mut state = lock(&self.state);
        state.visits.retain(|(of, ..), _| *of != launch);
        state.meetings.retain(|key, _| key.launch > launch);
        state.programs.retain(|(_, of), _| *of > launch);
    }

    /// Checks that another process launches the same program in the launch with this number, if its notification has arrived.
    fn compare(&self, job: &dyn Members, process: usize, launch: u64) {
        let differ = {
            let state = lock(&self.state);
            let of = |process: usize| state.programs.get(&(process, launch));
            matches!((of(self.process), of(process)), (Some(ours), Some(theirs)) if ours != theirs)
        };
        if differ {
            job.lose(
                process,
                &format!("runs a different program than process {} in launch {launch}", self.process),
            );
        }
    }

    /// Registers a device's arrival at the collective described by `text`. `answer` is called once, now or later, on any thread.
    pub(crate) fn arrive(
        &self,
        job: &dyn Members,
        launch: u64,
        text: &str,
        device: usize,
        operands: Vec<HostArray>,
        answer: Answer,
    ) {
        match self.seat(launch, text, device, operands) {
            Ok((key, spec)) => {
                let needed = spec.sources(key.group as usize, self.process);
                let mut state = lock(&self.state);
                state.meetings.entry(key).or_default().answers.push((device, answer));
                drop(state);
                if let Err(error) = job.check_all(&mut needed.into_iter()) {
                    self.dissolve(key, &error);
                    return;
                }
                self.advance(job, key);
            }
            Err(error) => answer(Err(error)),
        }
    }

    /// Adds a device's operands and callback to the meeting: the current execution of the collective by the device's group.
    fn seat(
        &self,
        launch: u64,
        text: &str,
        device: usize,
        operands: Vec<HostArray>,
    ) -> Result<(Key, Arc<Spec>)> {
        let mut state = lock(&self.state);
        let spec = match state.specs.get(text) {
            Some(spec) => spec.clone(),
            None => {
                let spec = Arc::new(Spec::parse(text).map_err(RuntimeError::Argument)?);
                state.specs.insert(text.to_owned(), spec.clone());
                spec
            }
        };
        let group = spec.group_of(device).filter(|_| spec.process_of(device) == self.process);
        let Some(group) = group else {
            return Err(RuntimeError::Argument(format!("device {device} does not participate in `{text}`")));
        };
        let types = operands.iter().map(|array| array.dtype);
        if !types.eq(spec.types.iter().copied()) {
            return Err(RuntimeError::Argument(format!(
                "device {device} reached `{text}` with operands of different types"
            )));
        }
        let visit = state.visits.entry((launch, spec.channel, device)).or_default();
        let key = Key { launch, channel: spec.channel, visit: *visit, group: group as u64 };
        *visit += 1;
        let open = state.meetings.entry(key).or_default();
        open.spec = Some(spec.clone());
        open.operands.insert(device, operands);
        Ok((key, spec))
    }

    /// Handles a message of another process about a launch or a collective in progress.
    pub(super) fn receive(&self, job: &dyn Members, from: usize, key: &[u8], payload: Arc<Vec<u8>>) {
        match key.split_first() {
            Some((&LAUNCH, launch)) => {
                if let (Ok(launch), Ok(program)) = (launch.try_into(), payload.as_slice().try_into()) {
                    let (launch, program) = (u64::from_le_bytes(launch), u64::from_le_bytes(program));
                    lock(&self.state).programs.insert((from, launch), program);
                    self.compare(job, from, launch);
                }
            }
            Some((&MEETING, key)) => {
                if let Some(key) = Key::read(key) {
                    let payload = Arc::try_unwrap(payload).unwrap_or_else(|shared| shared.to_vec());
                    lock(&self.state).meetings.entry(key).or_default().arrived.insert(from, payload);
                    self.advance(job, key);
                }
            }
            _ => {}
        }
    }

    /// Advances a collective as far as possible: sends this process's data when all its devices in the group have arrived, and delivers the
    /// results when the data of all processes has arrived.
    fn advance(&self, job: &dyn Members, key: Key) {
        let group = key.group as usize;
        let mut state = lock(&self.state);
        let Some(open) = state.meetings.get_mut(&key) else { return };
        let Some(spec) = open.spec.clone() else { return };
        let is_full = spec.members(group, self.process).len() == open.operands.len();
        if !is_full || open.answers.len() < open.operands.len() {
            return;
        }
        if !open.is_sent {
            // Setting `is_sent` makes this thread the only one that sends. The thread takes the operands out, so that it can encode and
            // send them without the lock, and then puts them back for the computation of the results.
            open.is_sent = true;
            let operands = std::mem::take(&mut open.operands);
            drop(state);
            let meeting = Meeting { spec: &spec, group, process: self.process, operands: &operands };
            let sent = spec.targets(group, self.process).into_iter().try_for_each(|to| {
                job.send(to, Frame::new(Kind::Collective, &key.write(), meeting.outgoing(to)?))
            });
            state = lock(&self.state);
            let Some(open) = state.meetings.get_mut(&key) else { return };
            open.operands = operands;
            if let Err(error) = sent {
                drop(state);
                self.dissolve(key, &error);
                job.fail(&error.to_string());
                return;
            }
        }
        let is_complete = state.meetings.get(&key).is_some_and(|open| {
            !open.operands.is_empty()
                && spec.sources(group, self.process).iter().all(|from| open.arrived.contains_key(from))
        });
        let Some(open) = is_complete.then(|| state.meetings.remove(&key)).flatten() else { return };
        drop(state);
        let meeting = Meeting { spec: &spec, group, process: self.process, operands: &open.operands };
        match meeting.results(&open.arrived) {
            Ok(mut results) => {
                for (device, answer) in open.answers {
                    let results = results.remove(&device).unwrap_or_default();
                    self.tellers.tell(device, move || answer(Ok(results)));
                }
            }
            Err(error) => {
                self.refuse(open, &error);
                job.fail(&error.to_string());
            }
        }
    }

    /// Removes a collective in progress, and reports an error to all devices that wait for its results.
    fn dissolve(&self, key: Key, why: &RuntimeError) {
        let open = lock(&self.state).meetings.remove(&key);
        if let Some(open) = open {
            self.refuse(open, why);
        }
    }

    fn refuse(&self, open: Open, why: &RuntimeError) {
        for (device, answer) in open.answers {
            let why = why.to_string();
            self.tellers.tell(device, move || answer(Err(RuntimeError::Argument(why))));
        }
    }

    /// Completes all collectives in progress with an error if a process was lost.
    pub(super) fn fail(&self, job: &dyn Members) {
        let keys: Vec<Key> = lock(&self.state).meetings.keys().copied().collect();
        if let Err(error) = job.check() {
            keys.into_iter().for_each(|key| self.dissolve(key, &error));
        }
    }

    /// Completes with an error all collectives in progress that wait for data of a process that ended.
    pub(super) fn process_ended(&self, job: &dyn Members, process: usize) {
        let waits = |(key, open): (&Key, &Open)| {
            let sources = open.spec.as_ref()?.sources(key.group as usize, self.process);
            (sources.contains(&process) && !open.arrived.contains_key(&process)).then_some(*key)
        };
        let keys: Vec<Key> = lock(&self.state).meetings.iter().filter_map(waits).collect();
        if let Err(error) = job.check_all(&mut std::iter::once(process)) {
            keys.into_iter().for_each(|key| self.dissolve(key, &error));
        }
    }
}
