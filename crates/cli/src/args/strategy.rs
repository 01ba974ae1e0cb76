//! The command line of strategies: `shardc fsdp`, `shardc lora`, and the options of other commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::program::{Machine, SymbolicArgs, ToArgs};

/// How a training step without annotations is split.
#[derive(Args, Clone, Debug)]
pub(crate) struct StrategyArgs {
    /// Split a training step without annotations as a file of `accelerate config` says; its processes are the mesh, unless
    /// --mesh is given
    #[arg(long, value_name = "FILE", conflicts_with = "fsdp")]
    pub(crate) config: Option<PathBuf>,
    /// Split a training step without annotations by a strategy in words, as `accelerate launch` takes them: "full_shard
    /// auto_wrap offload"; see `shardc fsdp apply --help`
    #[arg(long, value_name = "WORDS")]
    pub(crate) fsdp: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct FsdpArgs {
    #[command(subcommand)]
    pub(crate) command: FsdpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FsdpCommand {
    /// Say what the arguments of a step are: parameters, optimizer state, batch, ...
    #[command(after_help = "Examples:\n  shardc fsdp roles step.mlir --role arg12=batch --loss res3\n  \
        shardc fsdp roles step.mlir --fsdp \"full_shard auto_wrap\"    # and which unit each parameter is in")]
    Roles(FsdpRolesArgs),
    /// Annotate a step, so that it is partitioned as a strategy says
    #[command(
        after_help = "Example:\n  shardc fsdp apply step.mlir --fsdp full_shard --mesh fsdp=8 -o annotated.mlir\n  \
        shardc partition annotated.mlir -o out.mlir --manifest out.json\n\n\
        Words: full_shard (ZeRO-3), shard_grad_op (ZeRO-2), zero1, no_shard (DDP), hybrid_shard and hybrid_shard_zero2 (the first axis\n\
        of the mesh counts nodes);\n\
        auto_wrap (a unit for each layer), always_wrap, no_wrap, min_num_params=1e8: which parameters are gathered again together;\n\
        those in no unit are gathered once; backward_prefetch (a unit is gathered while the one behind it is computed);\n\
        activation_checkpointing (the backward part computes units, or layers, again rather than keep what is in them);\n\
        offload (parameters and optimizer state wait in host memory; TPU, GPU);\n\
        bf16, fp16 (products take operands of it), fp32_reduce_scatter (gradients are summed in f32 all the same);\n\
        sequence_parallel (activations between layers are split over the axis of tensor parallelism).\n\n\
        Axes of the mesh: model, tensor, tp or mp split weights within layers; context, cp, sequence, seq or sp sequences; expert,\n\
        experts or ep experts, and the batch; all others the batch."
    )]
    Apply(FsdpApplyArgs),
    /// Compare strategies: what a device keeps and what it sends
    #[command(after_help = "Examples:\n  shardc fsdp estimate step.mlir --mesh fsdp=8 --machine gpu\n  \
        shardc fsdp estimate --parameters 7.5e9 --devices 64\n\n\
        Without a step, the formulas of the ZeRO paper for Adam in mixed precision: 2 + 2 + 12 bytes for each parameter.")]
    Estimate(FsdpEstimateArgs),
    /// Ask what a strategy is to be, and write it as `accelerate config` does
    #[command(after_help = "Examples:\n  shardc fsdp config -o fsdp.yaml\n  \
        shardc partition step.mlir --config fsdp.yaml -o out.mlir\n\n\
        An empty line takes the answer in brackets, and so does the end of the input.")]
    Config(FsdpConfigArgs),
}

/// A training step, and what the user knows of it.
#[derive(Args, Debug)]
pub(crate) struct StepArgs {
    /// The step: StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: PathBuf,
    /// The function that is worked on; main, or the only public one, if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// What an argument is, where that is not found: ARG=ROLE, as in arg12=batch; see `shardc fsdp roles`
    #[arg(long, value_name = "ARG=ROLE")]
    pub(crate) role: Vec<String>,
    /// The result that is the loss, where that is not found: resN or its name
    #[arg(long, value_name = "RESULT")]
    pub(crate) loss: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct FsdpRolesArgs {
    #[command(flatten)]
    pub(crate) step: StepArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
}

#[derive(Args, Debug)]
pub(crate) struct FsdpConfigArgs {
    /// Ask nothing: every answer is the one in brackets
    #[arg(long)]
    pub(crate) defaults: bool,
    /// Where the file goes; - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

/// Which linear maps get adapters, and what kind.
#[derive(Args, Debug)]
pub(crate) struct LoraArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: PathBuf,
    /// The function that is worked on; main, or the only public one, if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// Take the settings of a file of PEFT, adapter_config.json, instead of options
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rank", "alpha", "rslora", "dropout", "targets"])]
    pub(crate) config: Option<PathBuf>,
    /// Write the settings as PEFT's adapter_config.json
    #[arg(long, value_name = "FILE")]
    pub(crate) save_config: Option<PathBuf>,
    /// The rank of the adapters
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) rank: i64,
    /// What adapters add is scaled by alpha over the rank; the rank if not given
    #[arg(long, value_name = "NUMBER")]
    pub(crate) alpha: Option<f64>,
    /// Scale by alpha over the square root of the rank
    #[arg(long)]
    pub(crate) rslora: bool,
    /// What part of what goes into adapters is set to zero: the program then takes dropout_key, two words, new in each step
    #[arg(long, value_name = "PART", default_value_t = 0.0)]
    pub(crate) dropout: f64,
    /// The linear maps: all-linear (all but the output), names or their last parts (wq,wv), or a regular expression that matches whole
    /// names
    #[arg(long, value_name = "TARGETS", default_value = "all-linear")]
    pub(crate) targets: String,
    /// What an argument is, where that is not found: ARG=ROLE, as in arg12=batch; see `shardc fsdp roles`
    #[arg(long, value_name = "ARG=ROLE")]
    pub(crate) role: Vec<String>,
    /// Write the program that makes the first values of the adapters of a key, ui32[2]
    #[arg(long, value_name = "FILE")]
    pub(crate) init: Option<PathBuf>,
    /// Write the program that takes weights and adapters, and returns the weights with the adapters in them
    #[arg(long, value_name = "FILE")]
    pub(crate) merge: Option<PathBuf>,
    /// Write the program that takes adapters out of weights again
    #[arg(long, value_name = "FILE")]
    pub(crate) unmerge: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) to: ToArgs,
}

#[derive(Args, Debug)]
pub(crate) struct FsdpApplyArgs {
    #[command(flatten)]
    pub(crate) step: StepArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    /// The devices: "fsdp=8", "node=2,fsdp=4", "data=4,model=2", "data=2,context=4", "data=2,expert=4"; names say what an axis
    /// splits, see below. Those of --config, or of the step, if not given
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// Whether parameters are gathered once more for the backward part; as the strategy has it if not given
    #[arg(long, value_name = "BOOL")]
    pub(crate) reshard_after_forward: Option<bool>,
    /// Split parameters along their first dimension only
    #[arg(long)]
    pub(crate) shard_param_on_dim_0: bool,
    /// Fail where a setting of --config is ignored that would change the result
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) to: ToArgs,
}

#[derive(Args, Debug)]
pub(crate) struct FsdpEstimateArgs {
    /// The step: StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    #[arg(required_unless_present = "parameters")]
    pub(crate) input: Option<PathBuf>,
    /// What an argument is, where that is not found: ARG=ROLE
    #[arg(long, value_name = "ARG=ROLE", requires = "input")]
    pub(crate) role: Vec<String>,
    /// The result that is the loss, where that is not found
    #[arg(long, value_name = "RESULT", requires = "input")]
    pub(crate) loss: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The devices: "fsdp=8"; with two axes the hybrid strategies, too. Those of the step if not given
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// Whose memory the step is to run in: TPUs keep tensors in tiles, and compilers keep more than is alive. plain if not given
    #[arg(long, value_enum, requires = "input")]
    pub(crate) machine: Option<Machine>,
    /// How many parameters a model has, in place of a step
    #[arg(long, value_name = "N", conflicts_with = "input", requires = "devices")]
    pub(crate) parameters: Option<f64>,
    /// How many devices there are
    #[arg(long, value_name = "N", conflicts_with = "mesh")]
    pub(crate) devices: Option<u64>,
    /// How many nodes they are in
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "mesh")]
    pub(crate) nodes: u64,
}
