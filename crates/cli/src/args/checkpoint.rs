//! The command line of `shardc checkpoint`.

use clap::{Args, Subcommand};

use super::statedict::{ConsolidateArgs, ConvertArgs};

#[derive(Args, Debug)]
pub(crate) struct CheckpointArgs {
    #[command(subcommand)]
    pub(crate) command: CheckpointCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// List the steps in a folder
    #[command(after_help = "Examples:\n  shardc checkpoint ls runs/mnist\n  \
        shardc checkpoint ls s3://bucket/run --store-option region=eu-central-1 --format json\n\n\
        Output: the number of arrays, size, writing processes and program of each step. Interrupted saves are not listed.")]
    Ls(PlaceArgs),
    /// Show the arrays of a checkpoint: types, shapes, blocks, shardings
    #[command(
        after_help = "Examples:\n  shardc checkpoint show runs/mnist/100\n  shardc checkpoint show runs/mnist --step 100\n\n\
        Without --step, the last step of a folder of steps is shown."
    )]
    Show(StepPlaceArgs),
    /// Read all data and compare it with the stored checksums
    #[command(
        after_help = "Examples:\n  shardc checkpoint verify runs/mnist/100\n  shardc checkpoint verify runs/mnist --all\n\n\
        Exit code: 0 all data is intact, 1 data is damaged (each file is named) or cannot be read, 2 wrong usage."
    )]
    Verify(VerifyCheckpointArgs),
    /// Compare two checkpoints: names, types, shapes, and every bit
    #[command(after_help = "Examples:\n  shardc checkpoint diff runs/a/100 runs/b/100\n  \
        shardc checkpoint diff runs/a/100 runs/a/200 --types-only\n\n\
        Output: a line for each difference: - and + for an array that is only in the first or second checkpoint, ! for different types or \
        shapes, ~ for different values. Shardings are not compared. Exit code: 0 equal, 1 different or unreadable, 2 wrong usage.")]
    Diff(DiffArgs),
    /// Rewrite a checkpoint in the blocks of a different sharding
    #[command(
        after_help = "Examples:\n  shardc checkpoint reshard runs/mnist/100 for-serving --mesh model=4\n  \
        shardc checkpoint reshard runs/mnist/100 one-file-each --whole\n  \
        shardc checkpoint reshard orbax/100 resharded --mesh data=2,model=4 --spec \"params.*=data,model\"\n\n\
        Restoring does not need this command: any checkpoint can be restored onto any mesh. An array without --spec keeps those axes of \
        its saved sharding that the mesh has. FROM may be a checkpoint of Orbax or of torch.distributed.checkpoint, or a state dict."
    )]
    Reshard(ReshardArgs),
    /// Consolidate the files of FSDP ranks into a full state dict
    #[command(
        after_help = "Examples:\n  shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.pth\"\n  \
        shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.safetensors\" --save-path final.safetensors\n\n\
        The files are those of PyTorch/XLA's FSDP: {\"model\": state_dict, \"shard_metadata\": get_shard_metadata()} saved by torch.save, \
        or safetensors files with that metadata in the header. No code in a file is run: anything but plain data is rejected. The result \
        equals that of torch_xla's consolidate_sharded_ckpts. At most one tensor is in memory at a time."
    )]
    Consolidate(ConsolidateArgs),
    /// Convert a state dict: safetensors, one file or several with Hugging Face's index, and files of torch.save
    #[command(
        after_help = "Examples:\n  shardc checkpoint convert pytorch_model.bin -o model.safetensors\n  \
        shardc checkpoint convert model.safetensors -o sharded/ --max-shard-size 2GB\n  \
        shardc checkpoint convert sharded/ -o model.pth\n  \
        shardc checkpoint convert training.pth --key ema.model -o ema.safetensors\n\n\
        The contents determine the format of the input. The name determines the format of the output: .safetensors, .pth, .pt or .bin. \
        A folder gets model.safetensors, or model-00001-of-00002.safetensors and so on with model.safetensors.index.json."
    )]
    Convert(ConvertArgs),
}

/// Options of object stores.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArgs {
    /// An option of the store: KEY=VALUE, with a key of the Rust crate object_store
    #[arg(long = "store-option", value_name = "KEY=VALUE")]
    pub(crate) options: Vec<String>,
}

/// The location of a checkpoint.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// A folder, or a URL of a supported store: file://, s3://, gs://, az://
    pub(crate) place: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct StepPlaceArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The step to read from a folder of steps
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u64>,
    /// The item to read from a checkpoint with several items, such as `state` of Orbax's CheckpointManager
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyCheckpointArgs {
    #[command(flatten)]
    pub(crate) place: StepPlaceArgs,
    /// Verify every step in the folder
    #[arg(long, conflicts_with = "step")]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A checkpoint, or a folder of steps, whose last step is used
    pub(crate) first: String,
    /// The checkpoint or folder of steps to compare it with
    pub(crate) second: String,
    /// Compare only names, types and shapes
    #[arg(long)]
    pub(crate) types_only: bool,
    /// The item to read from checkpoints with several items, such as `state` of Orbax's CheckpointManager
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ReshardArgs {
    /// A checkpoint, or a folder of steps, whose last step is used
    pub(crate) from: String,
    /// The location of the new checkpoint
    pub(crate) to: String,
    /// The mesh, as in "data=2,model=4"
    #[arg(long, value_name = "MESH", required_unless_present = "whole")]
    pub(crate) mesh: Option<String>,
    /// The sharding of arrays: NAME=SPEC, as in params.w=data,- (* in a name matches any text; the last match wins)
    #[arg(long, value_name = "NAME=SPEC", requires = "mesh")]
    pub(crate) spec: Vec<String>,
    /// Write each array as one block, without a sharding
    #[arg(long, conflicts_with = "mesh")]
    pub(crate) whole: bool,
    /// The item to read from a checkpoint with several items, such as `state` of Orbax's CheckpointManager
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
