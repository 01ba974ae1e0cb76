//! Files of ranks, each with its shards of a model and the metadata that says of what they are shards, as PyTorch/XLA's
//! `XlaFullyShardedDataParallel` leaves them, and the full state dict that they are together.
//!
//! A rank's file is `{"model": state_dict, "shard_metadata": get_shard_metadata()}` of `torch.save`, or a safetensors file with the
//! metadata as JSON in `__metadata__`, under `shard_metadata`. Three layouts are known:
//!
//! * each parameter flat, padded with zeros, and cut into as many equal parts as there are ranks (the default);
//! * all parameters of a wrapper flat, one behind the other, padded and cut (`flatten_parameters`);
//! * each parameter padded along its first dimension, and cut there (`shard_param_on_dim_0`).

mod consolidate;
mod json;
mod metadata;
mod pickled;
mod rank;
mod shard;

pub use consolidate::{consolidate, consolidate_files, find_files};
pub use metadata::{FlatParameter, ShardMetadata, ShardedParameter};
pub use rank::{RankFile, open_rank, write_rank};
pub use shard::{Layout, Sharding, shard};
