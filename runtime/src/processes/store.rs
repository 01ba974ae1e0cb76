//! The key-value store that process 0 keeps. Plugins of different processes exchange the addresses of their own connections through this
//! store.

use std::collections::HashMap;
use std::sync::Arc;

/// A pending lookup: the index of the requesting process, and the number of its request.
type Asker = (usize, u64);

/// A key-value store: the values, and the pending lookups, by key.
#[derive(Default)]
pub(super) struct Store {
    values: HashMap<Vec<u8>, Arc<Vec<u8>>>,
    waiting: HashMap<Vec<u8>, Vec<Asker>>,
}

impl Store {
    /// Sets a value; returns the pending lookups of its key, which the caller must answer.
    pub(super) fn put(&mut self, key: Vec<u8>, value: Arc<Vec<u8>>) -> Vec<Asker> {
        let askers = self.waiting.remove(&key).unwrap_or_default();
        self.values.insert(key, value);
        askers
    }

    /// Returns the value of a key; `None` if it has none.
    pub(super) fn get(&self, key: &[u8]) -> Option<Arc<Vec<u8>>> {
        self.values.get(key).cloned()
    }

    /// Registers a lookup of a key that has no value yet.
    pub(super) fn wait(&mut self, key: Vec<u8>, asker: Asker) {
        self.waiting.entry(key).or_default().push(asker);
    }
}

/// Encodes a lookup request: `waits` is whether to wait until the key has a value, and `number` identifies the request.
pub(super) fn question(waits: bool, number: u64) -> Vec<u8> {
    let mut payload = vec![u8::from(waits)];
    payload.extend_from_slice(&number.to_le_bytes());
    payload
}

/// Decodes a lookup request to its two values (see [`question`]); `None` if it is invalid.
pub(super) fn read_question(payload: &[u8]) -> Option<(bool, u64)> {
    let (&waits, number) = payload.split_first()?;
    Some((waits != 0, u64::from_le_bytes(number.try_into().ok()?)))
}

/// Returns the key of the message with the answer to the request with this number.
pub(super) fn answer_key(number: u64) -> Vec<u8> {
    let mut key = b"answer/".to_vec();
    key.extend_from_slice(&number.to_le_bytes());
    key
}

/// Encodes an answer: one byte that is 1 if there is a value, then the value.
pub(super) fn answer(value: Option<&[u8]>) -> Vec<u8> {
    let mut payload = vec![u8::from(value.is_some())];
    payload.extend_from_slice(value.unwrap_or_default());
    payload
}

/// Decodes the value of an answer; `None` if the answer has no value or is invalid.
pub(super) fn read_answer(payload: &[u8]) -> Option<Vec<u8>> {
    let (&is_there, value) = payload.split_first()?;
    (is_there != 0).then(|| value.to_vec())
}
