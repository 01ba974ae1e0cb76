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
    /// List the steps of a folder
    #[command(after_help = "Examples:\n  shardc checkpoint ls runs/mnist\n  \
        shardc checkpoint ls s3://bucket/run --store-option region=eu-central-1 --format json\n\n\
        Saves that were interrupted are not listed.")]
    Ls(PlaceArgs),
    /// Show the arrays of a checkpoint: types, shapes, blocks, shardings
    #[command(
        after_help = "Examples:\n  shardc checkpoint show runs/mnist/100\n  shardc checkpoint show runs/mnist --step 100\n\n\
        Of a folder of steps without --step, the last one is shown."
    )]
    Show(StepPlaceArgs),
    /// Read everything, and compare it with its checksums
    #[command(
        after_help = "Examples:\n  shardc checkpoint verify runs/mnist/100\n  shardc checkpoint verify runs/mnist --all\n\n\
        Exit code: 0 all is as it was written, 1 something is damaged (each file is named) or cannot be read, 2 wrong usage."
    )]
    Verify(VerifyCheckpointArgs),
    /// Compare two checkpoints: names, types, shapes, and every bit
    #[command(after_help = "Examples:\n  shardc checkpoint diff runs/a/100 runs/b/100\n  \
        shardc checkpoint diff runs/a/100 runs/a/200 --types-only\n\n\
        How arrays were sharded makes no difference. Exit code: 0 they are the same, 1 they differ or cannot be read, 2 wrong usage.")]
    Diff(DiffArgs),
    /// Write a checkpoint again with the blocks of another sharding
    #[command(
        after_help = "Examples:\n  shardc checkpoint reshard runs/mnist/100 for-serving --mesh model=4\n  \
        shardc checkpoint reshard runs/mnist/100 one-file-each --whole\n  \
        shardc checkpoint reshard orbax/100 resharded --mesh data=2,model=4 --spec \"params.*=data,model\"\n\n\
        Restoring needs none of this: any checkpoint is restored onto any mesh. Arrays for which no --spec is given keep the axes that\n\
        they were saved with, as far as the mesh has them. FROM may be a checkpoint of Orbax or of\n\
        torch.distributed.checkpoint, or a state dict."
    )]
    Reshard(ReshardArgs),
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

/// How stores are spoken to.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArgs {
    /// An option of the store, as the crate object_store calls it: KEY=VALUE
    #[arg(long = "store-option", value_name = "KEY=VALUE")]
    pub(crate) options: Vec<String>,
}

/// Where checkpoints are.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// A folder, or a URL of a store that is built in: file://, s3://, gs://, az://
    pub(crate) place: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct StepPlaceArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The step of a folder of steps
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u64>,
    /// The item of a checkpoint that has several, as in `state` of a CheckpointManager of Orbax
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyCheckpointArgs {
    #[command(flatten)]
    pub(crate) place: StepPlaceArgs,
    /// Every step of a folder
    #[arg(long, conflicts_with = "step")]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A checkpoint, or a folder of steps for its last one
    pub(crate) first: String,
    /// Another
    pub(crate) second: String,
    /// Compare names, types and shapes alone
    #[arg(long)]
    pub(crate) types_only: bool,
    /// The item of checkpoints that has several, as in `state` of a CheckpointManager of Orbax
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ReshardArgs {
    /// A checkpoint, or a folder of steps for its last one
    pub(crate) from: String,
    /// Where the new one goes
    pub(crate) to: String,
    /// The devices, "data=2,model=4"
    #[arg(long, value_name = "MESH", required_unless_present = "whole")]
    pub(crate) mesh: Option<String>,
    /// The sharding of arrays: NAME=SPEC, as in params.w=data,- (* in a name stands for any text; the last that matches counts)
    #[arg(long, value_name = "NAME=SPEC", requires = "mesh")]
    pub(crate) spec: Vec<String>,
    /// One block for each array
    #[arg(long, conflicts_with = "mesh")]
    pub(crate) whole: bool,
    /// The item of a checkpoint that has several, as in `state` of a CheckpointManager of Orbax
    #[arg(long, value_name = "NAME")]
    pub(crate) item: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
