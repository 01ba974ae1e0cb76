//! The command line of state dicts: `shardc checkpoint consolidate` and `convert`.

use std::path::PathBuf;

use clap::Args;

/// The largest size of files.
#[derive(Args, Debug)]
pub(crate) struct ShardArgs {
    /// The largest size of a safetensors file, "5GB"; a larger state dict is split into several files. By default 5GB in a folder, and
    /// no limit otherwise
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_shard_size: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ConsolidateArgs {
    /// The prefix of the files of all ranks
    #[arg(long, value_name = "PREFIX", alias = "ckpt_prefix")]
    pub(crate) ckpt_prefix: String,
    /// The file names after the prefix, as a shell pattern
    #[arg(long, value_name = "PATTERN", alias = "ckpt_suffix", default_value = "*.pth")]
    pub(crate) ckpt_suffix: String,
    /// The output: a .pth or .safetensors file, or a folder; by default PREFIX_consolidated.pth or .safetensors, in the format of
    /// the input
    #[arg(long, value_name = "FILE", alias = "save_path")]
    pub(crate) save_path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// The input: a safetensors file, an index of several, a folder with either, a file of torch.save, or a checkpoint of shardc, of
    /// Orbax or of torch.distributed.checkpoint
    pub(crate) input: PathBuf,
    /// The key of the state dict in a file of torch.save, with dots for nested dicts; by default the whole object, or its `model` or
    /// `state_dict`
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The output: a file that ends with .safetensors, .pth, .pt or .bin, or a folder
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Write a checkpoint (Zarr) instead of a state dict
    #[arg(long, conflicts_with = "max_shard_size")]
    pub(crate) zarr: bool,
    /// Write a checkpoint of torch.distributed.checkpoint (a folder) instead of a state dict
    #[arg(long, conflicts_with_all = ["max_shard_size", "zarr"])]
    pub(crate) dcp: bool,
    /// Convert only tensors with this name, "params.*"; * matches any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// The item to read from a checkpoint with several items, such as `state` of Orbax's CheckpointManager
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}
