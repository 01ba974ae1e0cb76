//! Marks of the values of a partitioned program: numbers that are equal for equal elements, and differ for others except by chance.
//!
//! The program runs in exact arithmetic. The mark of a value combines the elements on all devices in the order of the mesh. A value in a loop
//! is computed several times: it has the mark of the first time and that of all times together.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shardc_interpreter::{Array, Data, Exact, Mixer, Observer, Value};
use shardc_ir::{EntityRef, Module, ValueId};

use crate::exact::Test;

/// The number of times of which each has a mark of its own.
pub(crate) const TIMES: usize = 4;

/// The mark of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The value of each of the first times; zero if it was not computed as often.
    times: [u64; TIMES],
    /// All values one after the other.
    all: u64,
}

/// A part of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The value of one of the first times.
    Time(usize),
    /// All values.
    All,
}

impl Mark {
    fn new(one: u64) -> Mark {
        let mut times = [0; TIMES];
        times[0] = one;
        Mark { times, all: one }
    }

    fn add(&mut self, next: u64) {
        self.all = mixed((self.all, next));
        if let Some(time) = self.times.iter_mut().find(|time| **time == 0) {
            *time = next;
        }
    }

    /// A part of the mark; `None` if the value was not computed as often.
    pub(crate) fn part(self, part: Part) -> Option<u64> {
        match part {
            Part::Time(at) => self.times.get(at).copied().filter(|&time| time != 0),
            Part::All => Some(self.all),
        }
    }
}

/// One word for each of the first times; then a word for all, unless the value is computed once.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for time in self.times.iter().filter(|&&time| time != 0) {
            write!(f, "{time:016x}")?;
        }
        if self.times[1] != 0 { write!(f, "{:016x}", self.all) } else { Ok(()) }
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Mark, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("a mark has words of 16 hexadecimal digits"))
    }
}

fn parse(text: &str) -> Option<Mark> {
    let starts = (0..text.len()).step_by(16);
    let words: Option<Vec<u64>> =
        starts.map(|at| u64::from_str_radix(text.get(at..at + 16)?, 16).ok()).collect();
    match words?.as_slice() {
        &[one] => Some(Mark::new(one)),
        [own @ .., all] if own.len() >= 2 && own.len() <= TIMES => {
            let mut times = [0; TIMES];
            times[..own.len()].copy_from_slice(own);
            Some(Mark { times, all: *all })
        }
        _ => None,
    }
}

fn mixed(value: impl Hash) -> u64 {
    let mut hasher = Mixer::default();
    value.hash(&mut hasher);
    // Zero stands for a value that is not computed.
    hasher.finish().max(1)
}

fn digest(array: &Array<Exact>) -> u64 {
    let mut hasher = Mixer::default();
    array.dims().hash(&mut hasher);
    match array.data() {
        Data::Bool(list) => list.hash(&mut hasher),
        Data::I8(list) => list.hash(&mut hasher),
        Data::I16(list) => list.hash(&mut hasher),
        Data::I32(list) => list.hash(&mut hasher),
        Data::I64(list) => list.hash(&mut hasher),
        Data::U8(list) => list.hash(&mut hasher),
        Data::U16(list) => list.hash(&mut hasher),
        Data::U32(list) => list.hash(&mut hasher),
        Data::U64(list) => list.hash(&mut hasher),
        Data::F32(list) | Data::F64(list) => list.hash(&mut hasher),
        Data::C64(list) | Data::C128(list) => list.hash(&mut hasher),
    }
    hasher.finish().max(1)
}

/// The mark of several values together.
pub(crate) fn together(values: &[Value<Exact>]) -> Mark {
    Mark::new(mixed(values.iter().filter_map(Value::as_array).map(digest).collect::<Vec<u64>>()))
}

/// Marks while they are collected: by value and device.
#[derive(Default)]
struct Marker {
    found: Mutex<BTreeMap<ValueId, BTreeMap<usize, Mark>>>,
}

impl Observer<Exact> for Marker {
    fn defined(&self, device: usize, id: ValueId, value: &Value<Exact>) {
        let Some(array) = value.as_array() else { return };
        let one = digest(array);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let own = found.entry(id).or_default().entry(device);
        own.and_modify(|mark| mark.add(one)).or_insert(Mark::new(one));
    }
}

/// The mark of each value of a partitioned program, and whether it ended; values that no device computes have none.
pub(crate) fn marks(test: &Test<'_>, module: &Module) -> (Vec<Option<Mark>>, bool) {
    let marker = Marker::default();
    let is_ended = test.observe(module, &marker).is_ok();
    let mut marks = vec![None; module.values.len()];
    let position = |device: usize| test.positions().get(device).copied().unwrap_or(device as u64);
    for (id, devices) in marker.found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let mut list: Vec<(u64, Mark)> =
            devices.into_iter().map(|(device, mark)| (position(device), mark)).collect();
        list.sort_unstable_by_key(|(at, _)| *at);
        marks[id.index()] = Some(joined(&list));
    }
    (marks, is_ended)
}

/// The mark of a value from those on the devices.
fn joined(devices: &[(u64, Mark)]) -> Mark {
    let word = |part: Part| -> u64 {
        let words: Vec<(u64, u64)> =
            devices.iter().filter_map(|(at, mark)| Some((*at, mark.part(part)?))).collect();
        if words.is_empty() { 0 } else { mixed(words) }
    };
    let times: [u64; TIMES] = std::array::from_fn(|at| word(Part::Time(at)));
    let all = if times[1] == 0 { times[0] } else { word(Part::All) };
    Mark { times, all }
}
