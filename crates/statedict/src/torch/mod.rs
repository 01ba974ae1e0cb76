//! `torch.save` files: read without running any of their code, and written.
//!
//! Such a file is a zip archive with a pickle and the storages of its tensors. A pickle is a program for a stack machine that may call any
//! function. This implementation accepts only what `torch.save` needs for dicts, lists, tuples, strings, numbers, `None`, element types,
//! tensors and parameters; anything else is rejected with an error that names it. A size stated in the file does not cause an allocation
//! by itself, and recursion is bounded.

mod container;
mod globals;
mod machine;
mod nodes;
pub(crate) mod opcodes;
mod pickle;
mod rebuild;
mod resolve;
mod state;
mod value;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use container::is_torch;
pub use state::open_torch;
pub use value::Value;
pub use value::dict;
pub use write::save;

use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use container::Container;
use globals::Dialect;

/// Loads the object of a `torch.save` file. Its tensors are read lazily.
///
/// # Errors
/// The file is missing (SH1402) or cannot be read (SH1401), has a different format (SH1405), its pickle is damaged (SH1406) or contains
/// more than plain data (SH1407), or a tensor exceeds its storage (SH1408).
pub fn load(path: &Path) -> Result<Value> {
    of_container(&Container::open(path)?, Dialect::Tensors).map_err(|error| error.in_file(path))
}

/// Loads the object of a `torch.save` file within another file.
pub(crate) fn load_part(file: &Arc<DataFile>) -> Result<Value> {
    let path = file.path();
    of_container(&Container::of(file)?, Dialect::Tensors).map_err(|error| error.in_file(path))
}

/// Loads the pickled metadata of `torch.distributed.checkpoint`. An instance of a class becomes a dict of its attributes, with the class
/// under `__class__`.
pub(crate) fn load_metadata(pickle: Vec<u8>) -> Result<Value> {
    of_container(&Container::of_pickle(pickle), Dialect::Metadata)
}

fn of_container(container: &Container, dialect: Dialect) -> Result<Value> {
    let (nodes, root) = machine::run(container, dialect)?;
    resolve::resolve(&nodes, root, container.pickle.len())
}

/// Returns the state dict from the items of a dict, all of which must be named tensors.
///
/// # Errors
/// There is an item of another kind (SH1413).
pub(crate) fn tensors(items: &[(Value, Value)]) -> Result<StateDict> {
    let mut dict = StateDict::new();
    for (key, value) in items {
        let wrong = |text: String| StateDictError::new(ErrorKind::Content, text);
        let Value::Str(name) = key else {
            return Err(wrong(format!("the name of a tensor must be a string, got {}", key.kind())));
        };
        let Value::Tensor(tensor) = value else {
            return Err(wrong(format!("{name:?} is {}, not a tensor", value.kind())));
        };
        dict.insert(name, tensor.clone())?;
    }
    Ok(dict)
}

/// Converts a state dict to an object for [`save`].
#[must_use]
pub fn to_value(dict: &StateDict) -> Value {
    value::dict(dict.iter().map(|(name, tensor)| (name.to_owned(), Value::Tensor(tensor.clone()))))
}
