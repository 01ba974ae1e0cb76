//! The command line of strategies: `shardc fsdp`, `shardc lora`, and the options of other commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::program::{SymbolicArgs, TargetArgs, ToArgs};

/// Options that select a sharding strategy for a training step without annotations.
#[derive(Args, Clone, Debug)]
pub(crate) struct StrategyArgs {
    /// Shard a training step without annotations by a file of `accelerate config`; unless --mesh is given, the mesh has the
    /// processes of that file
    #[arg(long, value_name = "FILE", conflicts_with = "fsdp")]
    pub(crate) config: Option<PathBuf>,
    /// Shard a training step without annotations by a strategy in words, as for `accelerate launch`: "full_shard auto_wrap
    /// offload"; see `shardc fsdp apply --help`
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
    /// Print the role of each argument of a step: parameter, optimizer state, batch, ...
    #[command(after_help = "Examples:\n  shardc fsdp roles step.mlir --role arg12=batch --loss res3\n  \
        shardc fsdp roles step.mlir --fsdp \"full_shard auto_wrap\"    # also the unit of each parameter\n\n\
        Roles: parameter, frozen_parameter, gradient_accumulator, optimizer_state, model_state, batch, step, scalar, rng_key.\n\n\
        Output: for each argument its role, the result that is its next value, the parameter to which state belongs, and the batch \
        dimension; and the result that is the loss.")]
    Roles(FsdpRolesArgs),
    /// Annotate a step with the shardings of a strategy
    #[command(
        after_help = "Example:\n  shardc fsdp apply step.mlir --fsdp full_shard --mesh fsdp=8 -o annotated.mlir\n  \
        shardc partition annotated.mlir -o out.mlir --manifest out.json\n\n\
        Words: full_shard (ZeRO-3), shard_grad_op (ZeRO-2), zero1, no_shard (DDP), hybrid_shard and hybrid_shard_zero2 (the first axis \
        of the mesh counts nodes);\n\
        auto_wrap (a unit for each layer), always_wrap, no_wrap, min_num_params=1e8: the units. The parameters of a unit are \
        all-gathered together, also in the backward pass; parameters outside of units are all-gathered once;\n\
        backward_prefetch (BACKWARD_PRE: the parameters of a unit are all-gathered while the gradients of the next unit are computed);\n\
        activation_checkpointing (the backward pass rematerializes units, or layers);\n\
        offload (parameters and optimizer state are kept in host memory; TPU, GPU);\n\
        bf16, fp16 (the type of matmul operands), fp32_reduce_scatter (gradients are summed in f32 in spite of bf16 or fp16);\n\
        sequence_parallel (activations between layers are sharded along the axis of tensor parallelism).\n\n\
        Output: the step with sharding annotations, an input of `shardc partition`.\n\n\
        The name of a mesh axis determines what it shards: model, tensor, tp or mp the weights within layers; context, cp, sequence, seq \
        or sp the sequence; expert, experts or ep the experts and the batch; any other name the batch."
    )]
    Apply(FsdpApplyArgs),
    /// Compare the strategies: memory of a device, and bytes that it sends
    #[command(after_help = "Examples:\n  shardc fsdp estimate step.mlir --mesh fsdp=8 --target h100\n  \
        shardc fsdp estimate --parameters 7.5e9 --devices 64\n\n\
        Output: for each strategy the bytes of parameters, gradients and optimizer state on a device, and the bytes that it sends in a \
        step. Without a step, the formulas of the ZeRO paper for Adam in mixed precision apply: 2 + 2 + 12 bytes for each parameter.")]
    Estimate(FsdpEstimateArgs),
    /// Ask for the settings of a strategy, and write them in the format of `accelerate config`
    #[command(after_help = "Examples:\n  shardc fsdp config -o fsdp.yaml\n  \
        shardc partition step.mlir --config fsdp.yaml -o out.mlir\n\n\
        An empty line, or the end of the input, selects the answer in brackets.")]
    Config(FsdpConfigArgs),
}

/// A training step, and the roles of arguments that the user specifies.
#[derive(Args, Debug)]
pub(crate) struct StepArgs {
    /// The step: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    pub(crate) input: PathBuf,
    /// The function to transform; by default main, or the only public function
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The role of an argument, if inference does not find it: ARG=ROLE, as in arg12=batch; see `shardc fsdp roles`
    #[arg(long, value_name = "ARG=ROLE")]
    pub(crate) role: Vec<String>,
    /// The result that is the loss, if inference does not find it: resN or its name
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
    /// Ask no questions: use the default answers, which are in brackets
    #[arg(long)]
    pub(crate) defaults: bool,
    /// The file to which the settings are written; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

/// The linear layers that get adapters, and the kind of adapters.
#[derive(Args, Debug)]
pub(crate) struct LoraArgs {
    /// The program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    pub(crate) input: PathBuf,
    /// The function to transform; by default main, or the only public function
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// Read the settings from PEFT's adapter_config.json instead of options
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rank", "alpha", "rslora", "dropout", "targets"])]
    pub(crate) config: Option<PathBuf>,
    /// Write the settings in the format of PEFT's adapter_config.json
    #[arg(long, value_name = "FILE")]
    pub(crate) save_config: Option<PathBuf>,
    /// The rank of the adapters
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) rank: i64,
    /// The outputs of adapters are scaled by alpha divided by the rank; by default alpha is the rank
    #[arg(long, value_name = "NUMBER")]
    pub(crate) alpha: Option<f64>,
    /// Scale by alpha divided by the square root of the rank (rank-stabilized LoRA)
    #[arg(long)]
    pub(crate) rslora: bool,
    /// The dropout probability of the inputs of adapters; if not 0, the program takes dropout_key, ui32[2], a new key for each step
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0)]
    pub(crate) dropout: f64,
    /// The linear layers to adapt: all-linear (all but the output), names or their last components (wq,wv), or a regular expression for
    /// the full name
    #[arg(long, value_name = "TARGETS", default_value = "all-linear")]
    pub(crate) targets: String,
    /// The role of an argument, if inference does not find it: ARG=ROLE, as in arg12=batch; see `shardc fsdp roles`
    #[arg(long, value_name = "ARG=ROLE")]
    pub(crate) role: Vec<String>,
    /// Write the program that initializes the adapters from a key, ui32[2]
    #[arg(long, value_name = "FILE")]
    pub(crate) init: Option<PathBuf>,
    /// Write the program that takes weights and adapters, and merges the adapters into the weights
    #[arg(long, value_name = "FILE")]
    pub(crate) merge: Option<PathBuf>,
    /// Write the program that removes merged adapters from the weights
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
    /// The mesh: "fsdp=8", "node=2,fsdp=4", "data=4,model=2", "data=2,context=4", "data=2,expert=4". The name of an axis determines what it
    /// shards, see below. By default that of --config, or else that of the step
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// Whether parameters are all-gathered again for the backward pass; by default the strategy decides
    #[arg(long, value_name = "BOOL")]
    pub(crate) reshard_after_forward: Option<bool>,
    /// Shard parameters only along their first dimension
    #[arg(long)]
    pub(crate) shard_param_on_dim_0: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Fail if an ignored setting of --config would change the result
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) to: ToArgs,
    /// Print the program after a step of the strategy, or after each step (all), on standard error
    #[arg(long, value_name = "STEP", value_delimiter = ',', help_heading = "Pass inspection")]
    pub(crate) print_after: Vec<String>,
    /// Write the time of each step of the strategy to a file, as a table or, with --format json, as JSON; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Pass inspection")]
    pub(crate) timings: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct FsdpEstimateArgs {
    /// The step: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    #[arg(required_unless_present = "parameters")]
    pub(crate) input: Option<PathBuf>,
    /// The role of an argument, if inference does not find it: ARG=ROLE
    #[arg(long, value_name = "ARG=ROLE", requires = "input")]
    pub(crate) role: Vec<String>,
    /// The result that is the loss, if inference does not find it
    #[arg(long, value_name = "RESULT", requires = "input")]
    pub(crate) loss: Option<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The mesh: "fsdp=8"; with two axes, hybrid strategies are listed too. By default that of the step
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// The devices: a kind such as v5e, v5p, h100 or cpu, optionally with a grid, or a TOML file. TPUs store tensors in tiles, and compilers
    /// keep more than the live values. By default only live values are counted
    #[arg(long, value_name = "KIND[:GRID]|FILE", requires = "input")]
    pub(crate) target: Option<String>,
    /// The number of parameters of a model, instead of a step
    #[arg(long, value_name = "N", conflicts_with = "input", requires = "devices")]
    pub(crate) parameters: Option<f64>,
    /// The number of devices
    #[arg(long, value_name = "N", conflicts_with = "mesh")]
    pub(crate) devices: Option<u64>,
    /// The number of nodes
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "mesh")]
    pub(crate) nodes: u64,
}
