//! The store of keys and values that process 0 keeps, for plugins that find their own connections with it.

use std::collections::HashMap;
use std::sync::Arc;

/// A look-up that waits for its key: the process that asks, and its number for the question.
type Asker = (usize, u64);

/// Keys, values, and who waits for which key.
#[derive(Default)]
pub(super) struct Store {
    values: HashMap<Vec<u8>, Arc<Vec<u8>>>,
    waiting: HashMap<Vec<u8>, Vec<Asker>>,
}

impl Store {
    /// Sets a value; returns who waited for it.
    pub(super) fn put(&mut self, key: Vec<u8>, value: Arc<Vec<u8>>) -> Vec<Asker> {
        let askers = self.waiting.remove(&key).unwrap_or_default();
        self.values.insert(key, value);
        askers
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<Arc<Vec<u8>>> {
        self.values.get(key).cloned()
    }

    /// Has a process wait for a key.
    pub(super) fn wait(&mut self, key: Vec<u8>, asker: Asker) {
        self.waiting.entry(key).or_default().push(asker);
    }
}

/// A question: whether the answer is to wait until there is a value, and its number.
pub(super) fn question(waits: bool, number: u64) -> Vec<u8> {
    let mut payload = vec![u8::from(waits)];
    payload.extend_from_slice(&number.to_le_bytes());
    payload
}

/// What a question says; `None` where it is none.
pub(super) fn read_question(payload: &[u8]) -> Option<(bool, u64)> {
    let (&waits, number) = payload.split_first()?;
    Some((waits != 0, u64::from_le_bytes(number.try_into().ok()?)))
}

/// The key of the answer to a question.
pub(super) fn answer_key(number: u64) -> Vec<u8> {
    let mut key = b"answer/".to_vec();
    key.extend_from_slice(&number.to_le_bytes());
    key
}

/// An answer: one byte that says whether there is a value, then the value.
pub(super) fn answer(value: Option<&[u8]>) -> Vec<u8> {
    let mut payload = vec![u8::from(value.is_some())];
    payload.extend_from_slice(value.unwrap_or_default());
    payload
}

/// The value of an answer.
pub(super) fn read_answer(payload: &[u8]) -> Option<Vec<u8>> {
    let (&is_there, value) = payload.split_first()?;
    (is_there != 0).then(|| value.to_vec())
}
