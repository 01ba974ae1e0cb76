//! Per-rank files, each with shards of a model and their metadata, as written by PyTorch/XLA's `XlaFullyShardedDataParallel`, and their
//! consolidation into a full state dict.
//!
//! A rank's file is `{"model": state_dict, "shard_metadata": get_shard_metadata()}` from `torch.save`, or a safetensors file with the
//! metadata as JSON in `__metadata__`, under `shard_metadata`. Three layouts are supported:
//!
//! * each parameter flattened, padded with zeros, and divided into as many equal shards as there are ranks (the default);
//! * all parameters of a wrapper flattened and concatenated, padded and divided (`flatten_parameters`);
//! * each parameter padded and divided along its first dimension (`shard_param_on_dim_0`).

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
