//! Safetensors: one file, or several with Hugging Face's index.

mod index;
mod read;
mod split;
mod write;

pub use index::open_index;
pub(crate) use read::of_file;
pub use read::{from_bytes, open_file};
pub use split::{Part, Split, parse_size, split};
pub use write::write;
