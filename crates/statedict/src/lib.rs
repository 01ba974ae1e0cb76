//! # shardc-statedict: full state dicts
//!
//! Internal: this crate may change in any release. Front ends use `shardc::statedict`, which names the same.
//!
//! * [`safetensors`]: one file, or several with Hugging Face's index;
//! * [`torch`]: files of `torch.save`, read without running any of their code, and written;
//! * [`dcp`]: checkpoints of `torch.distributed.checkpoint`, read and written;
//! * [`fsdp`]: files of ranks with shard metadata, as PyTorch/XLA's FSDP has them, and the full state dict that they are parts of.
//!
//! Tensors stay in their files until somebody reads them, whole, in slices or in pieces of a few megabytes: nothing holds a model in
//! memory. [`open`] reads whatever of these a path leads to.

mod cast;
pub mod dcp;
mod dict;
mod dtypes;
mod error;
mod file;
pub mod fsdp;
mod gather;
mod open;
pub mod safetensors;
mod tensor;
pub mod torch;

pub use dict::StateDict;
pub use error::{ErrorKind, Result, StateDictError};
pub use open::{is_state_dict, open};
pub use tensor::Tensor;
pub use torch::open_torch;
