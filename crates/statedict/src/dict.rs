//! State dicts: tensors by name, in order.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::error::{ErrorKind, Result, StateDictError};
use crate::tensor::Tensor;

/// Tensors by name, in the order of the file or of the model, with what the file says besides.
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    tensors: IndexMap<String, Tensor>,
    /// `__metadata__` of a safetensors file: texts by name.
    pub metadata: BTreeMap<String, String>,
}

impl StateDict {
    /// An empty one.
    #[must_use]
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// Adds a tensor behind the others.
    ///
    /// # Errors
    /// There is one of this name (SH1413).
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> Result<()> {
        match self.tensors.entry(name.into()) {
            Entry::Occupied(entry) => {
                Err(StateDictError::new(ErrorKind::Content, "there are two of this name")
                    .of_tensor(entry.key()))
            }
            Entry::Vacant(entry) => {
                entry.insert(tensor);
                Ok(())
            }
        }
    }

    /// The tensor of a name.
    ///
    /// # Errors
    /// There is none (SH1413); the hint lists names that there are.
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        /// Names that are listed.
        const SHOWN: usize = 8;
        self.tensors.get(name).ok_or_else(|| {
            let mut list: Vec<String> = self.names().take(SHOWN).map(|name| format!("{name:?}")).collect();
            list.extend((self.len() > SHOWN).then(|| "...".to_owned()));
            let have = if list.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are {}", list.join(", "))
            };
            StateDictError::new(ErrorKind::Content, "it is missing").of_tensor(name).hint(have)
        })
    }

    /// The tensor of a name, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Names and tensors in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// How many tensors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// How many bytes the elements of all tensors take.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.tensors.values().map(Tensor::byte_len).fold(0, u64::saturating_add)
    }
}
