//! # shardc-statedict: full state dicts
//!
//! Internal: this crate may change in any release. Front ends use `shardc::statedict`, which exports the same names.
//!
//! * [`safetensors`]: one file, or several with Hugging Face's index;
//! * [`torch`]: `torch.save` files, read without running any of their code, and written;
//! * [`dcp`]: checkpoints of `torch.distributed.checkpoint`, read and written;
//! * [`fsdp`]: per-rank files with shard metadata, as written by PyTorch/XLA's FSDP, and their consolidation into a full state dict.
//!
//! Tensors are read lazily: each tensor entirely, by slices, or in chunks of a few megabytes. So a model need not be in memory as a
//! whole. [`open`] detects the format.

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
