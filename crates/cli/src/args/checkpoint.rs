//! The command line of `shardc checkpoint`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct CheckpointArgs {
    #[command(subcommand)]
    pub(crate) command: CheckpointCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// Put the files of FSDP ranks together: the full state dict
    #[command(
        after_help = "Examples:\n  shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.pth\"\n  \
        shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.safetensors\" --save-path final.safetensors\n\n\
        Files are those of PyTorch/XLA's FSDP, {\"model\": state_dict, \"shard_metadata\": get_shard_metadata()} saved by torch.save, or\n\
        safetensors files with that metadata in their texts. No code in them is run: what is no plain data is refused. The result is\n\
        that of torch_xla's consolidate_sharded_ckpts; one tensor at a time is in memory at most."
    )]
    Consolidate(ConsolidateArgs),
    /// Convert a state dict: safetensors, one file or several with Hugging Face's index, and files of torch.save
    #[command(
        after_help = "Examples:\n  shardc checkpoint convert pytorch_model.bin -o model.safetensors\n  \
        shardc checkpoint convert model.safetensors -o sharded/ --max-shard-size 2GB\n  \
        shardc checkpoint convert sharded/ -o model.pth\n  \
        shardc checkpoint convert training.pth --key ema.model -o ema.safetensors\n\n\
        What the input is, is told by its contents. What is written is told by the name: .safetensors, .pth, .pt and .bin, or a folder,\n\
        which gets model.safetensors, or model-00001-of-00002.safetensors and so on with model.safetensors.index.json."
    )]
    Convert(ConvertArgs),
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
    /// Write several safetensors files of so many bytes at most, "5GB"; 5GB in a folder, and one file otherwise, if not given
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_shard_size: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// A safetensors file, an index of several, a folder with either, or a file of torch.save
    pub(crate) input: PathBuf,
    /// The key of the state dict in a file of torch.save, with dots from dict to dict; the whole object, model or state_dict if not
    /// given
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Where the state dict goes: .safetensors, .pth, .pt, .bin or a folder
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Write several safetensors files of so many bytes at most, "5GB"; 5GB in a folder, and one file otherwise, if not given
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_shard_size: Option<String>,
}
