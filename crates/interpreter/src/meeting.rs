//! The point where devices meet: collectives, transfers over channels, infeed and outfeed.
//!
//! Each device runs on its own thread. A collective is identified by its operation, its group of devices, and the number of times the
//! device has executed it. A device that arrives waits for the other devices of the group. If no device can continue, every waiting device
//! fails: a deadlock is an error and never hangs.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;
use shardc_ir::OpId;

use crate::array::Array;
use crate::error::Fault;
use crate::numbers::Domain;
use crate::value::Value;

/// Identifies one execution of a collective by one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Room {
    pub(crate) op: OpId,
    pub(crate) group: usize,
    pub(crate) turn: u64,
}

/// The place of a value that one device sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// A channel, and the pair of devices that it connects, if pairs are given.
    Channel(i64, Option<usize>),
    /// A pair of a collective permute.
    Pair(Room),
}

/// The operands of all devices of a group.
#[derive(Debug)]
pub(crate) struct Gathered<D: Domain> {
    /// The operands of each device, in the order of the group.
    pub(crate) operands: Vec<Vec<Array<D>>>,
    /// A result that all devices share, computed by the first device that needs it.
    pub(crate) shared: OnceLock<Result<Vec<Array<D>>, Fault>>,
}

/// A collective for which not all devices have arrived, or that not all have left.
struct Waiting<D: Domain> {
    arrived: Vec<Option<Vec<Array<D>>>>,
    missing: usize,
    gathered: Option<Arc<Gathered<D>>>,
    left: usize,
}

struct State<D: Domain> {
    rooms: FxHashMap<Room, Waiting<D>>,
    /// Values sent and not yet received.
    sent: FxHashMap<Address, VecDeque<Vec<Value<D>>>>,
    /// Number of devices that wait for a value at each address.
    receivers: FxHashMap<Address, usize>,
    infeed: VecDeque<Array<D>>,
    outfeed: Vec<Vec<Value<D>>>,
    /// Number of devices that wait for another one.
    blocked: usize,
    /// Number of devices that run or wait.
    active: usize,
    /// The fault with which all waiting devices end.
    ended: Option<Fault>,
}

impl<D: Domain> State<D> {
    /// Ends all waiting devices if no device is left that could wake them.
    fn check_progress(&mut self) {
        let has_values = |address: &Address| self.sent.get(address).is_some_and(|queue| !queue.is_empty());
        // A device that was sent a value still counts as blocked until it wakes up.
        let can_receive = self.receivers.iter().any(|(address, &count)| count > 0 && has_values(address));
        if self.active > 0 && self.blocked >= self.active && self.ended.is_none() && !can_receive {
            let text = format!("all {} running devices wait for each other", self.active);
            self.ended = Some(Fault::Deadlock(text));
        }
    }
}

/// The shared state of the devices of a run.
pub(crate) struct Meeting<D: Domain> {
    state: Mutex<State<D>>,
    changed: Condvar,
}

impl<D: Domain> Meeting<D> {
    pub(crate) fn new(devices: usize, infeed: VecDeque<Array<D>>) -> Self {
        let state = State {
            rooms: FxHashMap::default(),
            sent: FxHashMap::default(),
            receivers: FxHashMap::default(),
            infeed,
            outfeed: Vec::new(),
            blocked: 0,
            active: devices,
            ended: None,
        };
        Meeting { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready` returns a value, and counts as blocked meanwhile. The device that makes `ready` succeed corrects the count.
    fn wait<T>(
        &self,
        mut state: MutexGuard<'_, State<D>>,
        mut ready: impl FnMut(&mut State<D>) -> Option<T>,
    ) -> Result<T, Fault> {
        state.blocked += 1;
        loop {
            state.check_progress();
            if let Some(fault) = state.ended.clone() {
                self.changed.notify_all();
                return Err(fault);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
        }
    }

    /// Gives the operands of this device, which has the index `place` in a group of `size` devices, and waits for those of the others.
    pub(crate) fn meet(
        &self,
        room: Room,
        place: usize,
        size: usize,
        operands: Vec<Array<D>>,
    ) -> Result<Arc<Gathered<D>>, Fault> {
        let mut state = self.lock();
        if let Some(fault) = state.ended.clone() {
            return Err(fault);
        }
        let waiting = state.rooms.entry(room).or_insert_with(|| Waiting {
            arrived: (0..size).map(|_| None).collect(),
            missing: size,
            gathered: None,
            left: 0,
        });
        match waiting.arrived.get_mut(place) {
            Some(slot @ None) => *slot = Some(operands),
            _ => return Err(Fault::Internal("a device arrived twice at a collective".to_owned())),
        }
        waiting.missing -= 1;
        if waiting.missing > 0 {
            return self.wait(state, |state| Self::leave(state, room, size));
        }
        let operands = std::mem::take(&mut waiting.arrived).into_iter().flatten().collect();
        waiting.gathered = Some(Arc::new(Gathered { operands, shared: OnceLock::new() }));
        // All other devices of the group can continue.
        state.blocked -= size - 1;
        self.changed.notify_all();
        Self::leave(&mut state, room, size)
            .ok_or_else(|| Fault::Internal("a collective without results".to_owned()))
    }

    /// Takes the operands of a complete collective; the last device removes it.
    fn leave(state: &mut State<D>, room: Room, size: usize) -> Option<Arc<Gathered<D>>> {
        let waiting = state.rooms.get_mut(&room)?;
        let gathered = waiting.gathered.clone()?;
        waiting.left += 1;
        if waiting.left == size {
            state.rooms.remove(&room);
        }
        Some(gathered)
    }

    /// Sends values to an address.
    pub(crate) fn send(&self, address: Address, values: Vec<Value<D>>) {
        let mut state = self.lock();
        state.sent.entry(address).or_default().push_back(values);
        self.changed.notify_all();
    }

    /// Receives values from an address, in the order in which they were sent.
    pub(crate) fn receive(&self, address: Address) -> Result<Vec<Value<D>>, Fault> {
        let mut state = self.lock();
        let take = |state: &mut State<D>| state.sent.get_mut(&address)?.pop_front();
        loop {
            if let Some(values) = take(&mut state) {
                return Ok(values);
            }
            if let Some(fault) = state.ended.clone() {
                return Err(fault);
            }
            state.blocked += 1;
            *state.receivers.entry(address).or_default() += 1;
            state.check_progress();
            if state.ended.is_none() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                self.changed.notify_all();
            }
            state.blocked -= 1;
            *state.receivers.entry(address).or_default() -= 1;
        }
    }

    /// Receives the next value of the infeed.
    pub(crate) fn infeed(&self) -> Result<Array<D>, Fault> {
        self.lock().infeed.pop_front().ok_or_else(|| Fault::Failed("the infeed is empty".to_owned()))
    }

    /// Sends values to the outfeed.
    pub(crate) fn outfeed(&self, values: Vec<Value<D>>) {
        self.lock().outfeed.push(values);
    }

    /// The values that outfeeds sent.
    pub(crate) fn into_outfeed(self) -> Vec<Vec<Value<D>>> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).outfeed
    }

    /// Records that a device has ended.
    pub(crate) fn finish(&self, failed: bool) {
        let mut state = self.lock();
        state.active = state.active.saturating_sub(1);
        if failed {
            state.ended.get_or_insert(Fault::Aborted);
        }
        state.check_progress();
        self.changed.notify_all();
    }
}
