//! State dicts: ordered maps from names to tensors.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::error::{ErrorKind, Result, StateDictError};
use crate::tensor::Tensor;

/// Tensors by name, in file or model order, with the metadata of the file.
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    tensors: IndexMap<String, Tensor>,
    /// Strings by key: `__metadata__` of a safetensors file, or the numbers and strings of a DCP checkpoint.
    pub metadata: BTreeMap<String, String>,
}

impl StateDict {
    /// Creates an empty state dict.
    #[must_use]
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// Appends a tensor.
    ///
    /// # Errors
    /// The name already exists (SH1413).
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> Result<()> {
        match self.tensors.entry(name.into()) {
            Entry::Occupied(entry) => {
                Err(StateDictError::new(ErrorKind::Content, "two tensors have this name")
                    .of_tensor(entry.key()))
            }
            Entry::Vacant(entry) => {
                entry.insert(tensor);
                Ok(())
            }
        }
    }

    /// Returns the tensor with this name.
    ///
    /// # Errors
    /// There is no such tensor (SH1413); the hint lists existing names.
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        /// The maximum number of listed names.
        const SHOWN: usize = 8;
        self.tensors.get(name).ok_or_else(|| {
            let mut list: Vec<String> = self.names().take(SHOWN).map(|name| format!("{name:?}")).collect();
            list.extend((self.len() > SHOWN).then(|| "...".to_owned()));
            let have = if list.is_empty() {
                "the state dict is empty".to_owned()
            } else {
                format!("the state dict has the tensors {}", list.join(", "))
            };
            StateDictError::new(ErrorKind::Content, "the state dict has no tensor of this name")
                .of_tensor(name)
                .hint(have)
        })
    }

    /// Returns the tensor with this name, if any.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns the names and tensors in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Returns the number of tensors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns whether there are no tensors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns the size of all tensors in bytes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.tensors.values().map(Tensor::byte_len).fold(0, u64::saturating_add)
    }
}
