//! The commands, each with its examples.

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;

use super::checkpoint::CheckpointArgs;
use super::derivative::DerivativeArgs;
use super::device::{CompileArgs, RunArgs, VerifyArgs};
use super::launch::LaunchArgs;
use super::look::{ExplainArgs, LintArgs, OpsArgs};
use super::opt::OptArgs;
use super::partition::{PartitionArgs, PropagateArgs};
use super::plugin::PluginArgs;
use super::{FsdpArgs, LoraArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turn an annotated program into the program that each device runs
    #[command(after_help = "Examples:\n  shardc partition step.mlir -o out.mlir --manifest out.json\n  \
        shardc partition plain.mlir -o out.mlir --mesh data=4,model=2 --spec arg0=data,-\n  \
        shardc partition exported.mlir -o out.mlir --dim b=64 --mesh data=8 --spec x=data,-\n  \
        shardc partition step.mlir -o out.mlirbc --emit bytecode --spmd-mode partition")]
    Partition(PartitionArgs),
    /// Carry the annotations to every value, and write the program on global shapes
    #[command(after_help = "Examples:\n  shardc propagate step.mlir -o annotated.mlir\n  \
        shardc propagate step.mlir --emit-gspmd -o for_gspmd.mlir")]
    Propagate(PropagateArgs),
    /// Warn of annotations that are right, but cost memory or communication, or do nothing
    #[command(after_help = "Examples:\n  shardc lint step.mlir\n  \
        shardc lint step.mlir --deny all --allow large-unsharded-parameter\n  \
        shardc lint plain.mlir --mesh data=4,model=2 --spec arg0=data,- --min-bytes 64KiB --format json\n  \
        shardc lint --list\n\n\
        Exit code: 0 nothing or warnings only, 1 a denied rule found something or the program was refused, 2 wrong usage.")]
    Lint(LintArgs),
    /// Run a program on one device and partitioned on many, and compare every output
    #[command(after_help = "Examples:\n  shardc verify step.mlir --seed 7\n  \
        shardc verify exported.mlir --dim b=64 --mesh data=8 --spec x=data,-")]
    Verify(VerifyArgs),
    /// Partition a program and run it through a PJRT plugin
    #[command(after_help = "Examples:\n  shardc run step.mlir --seed 7\n  \
        shardc run step.mlir --load runs/mnist/100 --inputs batch.safetensors --steps 10 --save runs/mnist/110\n  \
        shardc run model.mlir --load model.safetensors --map \"params.*=model.*\" --random-missing\n  \
        shardc run step.mlir --processes 2\n\n\
        Names are paths: params['w'] is params.w. A result that takes the memory of an argument has the argument's name. In several\n\
        processes (SHARDC_PROCESS_ID and so on, see docs/PROCESSES.md) all write one checkpoint, and process 0 shows the results.")]
    Run(Box<RunArgs>),
    /// Start a command in several processes on this machine, which find each other
    #[command(after_help = "Examples:\n  shardc launch -n 2 -- ./train --steps 100\n  \
        shardc launch -n 4 -- shardc run step.mlir --save out\n\n\
        Each process gets SHARDC_PROCESS_ID, SHARDC_NUM_PROCESSES, SHARDC_COORDINATOR and SHARDC_SECRET, and its lines begin with its\n\
        number. When one fails, the others are told to end (SIGTERM), and killed 10 s later; signals are handed on. Exit code: that of\n\
        the first process that failed, 128 and the signal's number if a signal ended it, or 0.")]
    Launch(LaunchArgs),
    /// Partition a program and compile it ahead of time; needs no device
    #[command(after_help = "Examples:\n  shardc compile step.mlir --target tpu:v5e:2x4\n  \
        shardc compile step.mlir --target cpu -o step.exe --json report.json")]
    Compile(CompileArgs),
    /// Say why values are sharded as they are, what lost against what, and what each collective is for
    #[command(
        after_help = "Examples:\n  shardc explain step.mlir\n  shardc explain step.mlir --value %5\n  \
        shardc explain step.mlir --line 120\n  shardc explain step.mlir --collective 3\n  \
        shardc explain step.mlir --html step.html --json step.json"
    )]
    Explain(ExplainArgs),
    /// Write a program that returns the gradient of a result by some arguments
    #[command(after_help = "Examples:\n  shardc grad loss.mlir --wrt params --value -o grad.mlir\n  \
        shardc grad loss.mlir --wrt arg0,arg3 --of 1 -o grad.mlir\n  \
        shardc grad loss.mlir --wrt params --rule flash=flash_forward,flash_backward -o grad.mlir\n\n\
        The program keeps its arguments, and returns the value first (with --value), then a gradient for each argument named, in\n\
        the order of the arguments. Shardings of arguments are those of their gradients: partition the result as it is.")]
    Grad(DerivativeArgs),
    /// Write a program that returns how results change by a change of some arguments
    #[command(after_help = "Example:\n  shardc jvp model.mlir --wrt params --value -o tangents.mlir\n\n\
        The program takes a tangent for each argument named, behind its own arguments, and returns the values first (with --value),\n\
        then a tangent for each result.")]
    Jvp(DerivativeArgs),
    /// Run chosen passes, for compiler engineers
    #[command(
        after_help = "Examples:\n  shardc opt step.mlir --passes inline,propagate,plan -o planned.mlir\n  \
        shardc opt tests.mlir -split-input-file -verify-diagnostics -sdy-basic-propagate\n\n\
        Options may be written as mlir-opt's, with one dash, and passes as options of their own."
    )]
    Opt(OptArgs),
    /// Show what is done with each operation where one of its dimensions is split
    #[command(after_help = "Examples:\n  shardc ops\n  shardc ops dot_general\n  shardc ops --json\n\n\
        The table is observed: a small program with each operation is partitioned.")]
    Ops(OpsArgs),
    /// Find, install and check PJRT plugins
    #[command(
        after_help = "Examples:\n  shardc plugin list\n  shardc plugin install cpu\n  shardc plugin doctor\n  shardc plugin doctor --plugin xla_cpu_pjrt.so"
    )]
    Plugin(PluginArgs),
    /// Split a whole training step without annotations: FSDP, ZeRO, data parallelism
    #[command(after_help = "Examples:\n  shardc fsdp roles step.mlir\n  \
        shardc fsdp estimate step.mlir --mesh fsdp=8\n  \
        shardc fsdp apply step.mlir --fsdp \"full_shard auto_wrap\" --mesh fsdp=8 -o annotated.mlir\n  \
        shardc partition step.mlir --config accelerate.yaml -o out.mlir --summary\n  \
        shardc fsdp estimate --parameters 7.5e9 --devices 64")]
    Fsdp(FsdpArgs),
    /// Put adapters of low rank (LoRA) beside the linear maps of a program
    #[command(
        after_help = "Examples:\n  shardc lora model.mlir --rank 8 --targets wq,wv -o adapted.mlir\n  \
        shardc grad adapted.mlir --wrt lora --value -o grad.mlir\n  \
        shardc lora model.mlir --rank 8 --alpha 16 -o adapted.mlir --init init.mlir --merge merge.mlir\n\n\
        The program computes forward: a loss, or anything else. It keeps its arguments, and takes adapters behind them,\n\
        lora.NAME.a (inputs x rank) and lora.NAME.b (rank x outputs); with zeros for all b it computes what it did. What it\n\
        multiplies by weights is told on the standard error, with the share of parameters that is trained."
    )]
    Lora(LoraArgs),
    /// List, show, verify, compare, reshard, put together and convert checkpoints
    #[command(
        after_help = "Examples:\n  shardc checkpoint ls runs/mnist\n  shardc checkpoint show runs/mnist/100\n  \
        shardc checkpoint verify runs/mnist --all\n  shardc checkpoint diff runs/a/100 runs/b/100\n  \
        shardc checkpoint reshard runs/mnist/100 for-serving --mesh model=4\n  \
        shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.pth\"\n  \
        shardc checkpoint convert pytorch_model.bin -o model.safetensors"
    )]
    Checkpoint(CheckpointArgs),
    /// Print the completions of a shell
    #[command(
        after_help = "Example:\n  shardc completions bash > ~/.local/share/bash-completion/completions/shardc"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, or write one for each command
    #[command(after_help = "Examples:\n  shardc man | man -l -\n  shardc man --dir ~/.local/share/man/man1")]
    Man {
        /// Where one page for each command goes
        #[arg(long = "dir", value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    #[command(name = "__aot-compile", hide = true)]
    AotCompile { request: PathBuf },
}

impl Command {
    /// Whether an option of the command itself asks for JSON.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Command::Lint(args) => args.json,
            Command::Ops(args) => args.json,
            _ => false,
        }
    }
}
