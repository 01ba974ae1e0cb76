//! The command line of state dicts: `shardc checkpoint consolidate` and `convert`.

use std::path::PathBuf;

use clap::Args;

/// How large files are.
#[derive(Args, Debug)]
pub(crate) struct ShardArgs {
    /// Write several safetensors files of so many bytes at most, "5GB"; 5GB in a folder, and one file otherwise, if not given
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_shard_size: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ConsolidateArgs {
    /// What the files of all ranks begin with
    #[arg(long, value_name = "PREFIX", alias = "ckpt_prefix")]
    pub(crate) ckpt_prefix: String,
    /// What they go on with: a pattern of the shell
    #[arg(long, value_name = "PATTERN", alias = "ckpt_suffix", default_value = "*.pth")]
    pub(crate) ckpt_suffix: String,
    /// Where the full state dict goes: .pth, .safetensors or a folder; PREFIX_consolidated with the ending of the files if not given
    #[arg(long, value_name = "FILE", alias = "save_path")]
    pub(crate) save_path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// A safetensors file, an index of several, a folder with either, a file of torch.save, or a checkpoint: shardc's, of Orbax, of
    /// torch.distributed.checkpoint
    pub(crate) input: PathBuf,
    /// The key of the state dict in a file of torch.save, with dots from dict to dict; the whole object, model or state_dict if not
    /// given
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Where the state dict goes: .safetensors, .pth, .pt, .bin or a folder
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Write a checkpoint (Zarr) instead
    #[arg(long, conflicts_with = "max_shard_size")]
    pub(crate) zarr: bool,
    /// Write a checkpoint of torch.distributed.checkpoint, a folder, instead
    #[arg(long, conflicts_with_all = ["max_shard_size", "zarr"])]
    pub(crate) dcp: bool,
    /// Convert tensors of these names alone, "params.*"; * stands for any text; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// The item of a checkpoint that has several, as in `state` of a CheckpointManager of Orbax
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}
