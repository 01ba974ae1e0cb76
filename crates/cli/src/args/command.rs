//! The commands, each with its examples.

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;

use super::auto::AutoArgs;
use super::checkpoint::CheckpointArgs;
use super::derivative::DerivativeArgs;
use super::device::{CompileArgs, RunArgs, VerifyArgs};
use super::launch::LaunchArgs;
use super::look::{DiffArgs, ExplainArgs, LintArgs, LspArgs, OpsArgs, ProveArgs, SnapshotArgs};
use super::opt::OptArgs;
use super::partition::{MemoryArgs, PartitionArgs, PropagateArgs};
use super::plan::PlanArgs;
use super::plugin::PluginArgs;
use super::{FsdpArgs, LoraArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile an annotated program into the program that each device runs
    #[command(after_help = "Examples:\n  shardc partition step.mlir -o out.mlir --manifest out.json\n  \
        shardc partition plain.mlir -o out.mlir --mesh data=4,model=2 --spec arg0=data,-\n  \
        shardc partition exported.mlir -o out.mlir --dim b=64 --mesh data=8 --spec x=data,-\n  \
        shardc partition step.mlir -o out.mlirbc --emit bytecode --spmd-mode partition\n\n\
        Output: the per-device (SPMD) program, with local shapes and explicit collectives. Warnings on standard error report all-gathers \
        that no annotation requests.")]
    Partition(PartitionArgs),
    /// Propagate the shardings to every value; shapes stay global
    #[command(after_help = "Examples:\n  shardc propagate step.mlir -o annotated.mlir\n  \
        shardc propagate step.mlir --emit-gspmd -o for_gspmd.mlir\n\n\
        Output: the program with an sdy.sharding, or with --emit-gspmd an mhlo.sharding, on each value.")]
    Propagate(PropagateArgs),
    /// Warn about valid annotations that cost memory or communication, or have no effect
    #[command(after_help = "Examples:\n  shardc lint step.mlir\n  \
        shardc lint step.mlir --deny all --allow large-unsharded-parameter\n  \
        shardc lint plain.mlir --mesh data=4,model=2 --spec arg0=data,- --min-bytes 64KiB --format json\n  \
        shardc lint --list\n\n\
        Output: the findings, each with its source line, rule and hint, followed by their total. \
        Exit code: 0 no findings or only warnings, 1 a denied rule has findings or the program was rejected, 2 wrong usage.")]
    Lint(LintArgs),
    /// Prove that a partitioned program computes what the original computes
    #[command(after_help = "Examples:\n  shardc partition step.mlir -o out.mlir --manifest out.json\n  \
        shardc prove step.mlir out.mlir out.json\n  shardc prove step.mlir out.mlir out.json --no-test --format json\n  \
        shardc partition step.mlir -o out.mlir --manifest out.json --certificate certificate.json\n  \
        shardc prove step.mlir changed.mlir out.json --certificate certificate.json\n  \
        shardc prove step.mlir changed.mlir out.json --counter-example wrong\n  \
        shardc prove propagated.mlir shardy.mlir\n  shardc fsdp apply step.mlir --mesh fsdp=8 -o applied.mlir\n  \
        shardc prove step.mlir applied.mlir\n  shardc prove model.mlir adapted.mlir --zero 'lora.*.b'\n  \
        shardc grad loss.mlir --wrt params --value -o gradient.mlir\n  shardc prove loss.mlir gradient.mlir --gradient\n\n\
        Output: the verdict, the places that are not proven, with what the value is and what is needed, and the number of operations \
        that are proven. A proof holds in exact arithmetic for all inputs. If it is not complete, both programs run on random inputs in \
        exact arithmetic. Exit code: 0 proven, or equal in the test; 1 refuted, not decided, or a program was rejected; 2 wrong usage.")]
    Prove(ProveArgs),
    /// Run a program on one device and partitioned on several, and compare every output
    #[command(after_help = "Examples:\n  shardc verify step.mlir --seed 7\n  \
        shardc verify exported.mlir --dim b=64 --mesh data=8 --spec x=data,-\n  \
        shardc verify step.mlir --engine interpreter\n  shardc verify step.mlir --exact\n  \
        shardc verify step.mlir --exact --against rewritten.mlir\n\n\
        Output: the outputs that differ, with error and tolerance, and a summary. Inputs are random. With --exact there is no tolerance: \
        the output is the number of elements that differ, the first of them and the devices that hold them, and a bound on the chance \
        that a difference is missed. Exit code: 0 all outputs are equal (up to rounding, without --exact), 1 an output differs or the run \
        failed, 2 wrong usage.")]
    Verify(VerifyArgs),
    /// Partition a program and run it, through a PJRT plugin or in an interpreter
    #[command(after_help = "Examples:\n  shardc run step.mlir --seed 7\n  \
        shardc run step.mlir --load runs/mnist/100 --inputs batch.safetensors --steps 10 --save runs/mnist/110\n  \
        shardc run model.mlir --load model.safetensors --map \"params.*=model.*\" --random-missing\n  \
        shardc run step.mlir --processes 2\n  shardc run step.mlir --engine interpreter --steps 3\n\n\
        Output: the type, smallest, largest and mean element of each result; with --steps, also the time and the scalar results of \
        each step.\n\n\
        Names are paths: params['w'] is params.w. A result to which an argument is donated has the name of that argument. Several \
        processes (SHARDC_PROCESS_ID and so on, see docs/PROCESSES.md) write one checkpoint together; process 0 prints the results.")]
    Run(Box<RunArgs>),
    /// Start a command as one job of several processes on this machine
    #[command(after_help = "Examples:\n  shardc launch -n 2 -- ./train --steps 100\n  \
        shardc launch -n 4 -- shardc run step.mlir --save out\n\n\
        Each process gets SHARDC_PROCESS_ID, SHARDC_NUM_PROCESSES, SHARDC_COORDINATOR and SHARDC_SECRET, and its lines are prefixed \
        with its number. When one fails, the others get SIGTERM, and SIGKILL after 10 s. Signals are forwarded. Exit code: that of the \
        first process that failed (128 plus the signal number if a signal ended it), or 0.")]
    Launch(LaunchArgs),
    /// Partition a program and compile it ahead of time, without a device
    #[command(after_help = "Examples:\n  shardc compile step.mlir --target tpu:v5e:2x4\n  \
        shardc compile step.mlir --target cpu -o step.exe --json report.json\n\n\
        Output: a report of the memory of a device, and of the collectives with the bytes that a device sends. Exit code 1 if the \
        program does not fit in the memory of a device.")]
    Compile(CompileArgs),
    /// Estimate the memory of a device, as an interval around an expected value
    #[command(
        after_help = "Examples:\n  shardc memory step.mlir\n  shardc memory step.mlir --target v5p --stage buffers\n  \
        shardc memory step.mlir --without recompute\n  shardc memory step.mlir --list\n  \
        shardc memory step.mlir --target v5e:2x4 --check\n\n\
        Output: the bytes of arguments, results and temporaries, the expected total, the interval, and the causes of its width. \
        With --stage, the result of a stage of the model for each region instead. With --check, also the figures of the compiler."
    )]
    Memory(MemoryArgs),
    /// Explain the sharding of each value, the conflicts between annotations, and the reason for each collective
    #[command(
        after_help = "Examples:\n  shardc explain step.mlir\n  shardc explain step.mlir --value %5\n  \
        shardc explain step.mlir --line 120\n  shardc explain step.mlir --collective 3\n  \
        shardc explain step.mlir --kind all_reduce --class activation --min-bytes 1MiB\n  \
        shardc explain step.mlir --html step.html --json step.json\n\n\
        Output: by default, an overview of shardings, conflicts and collectives. Collectives of repeated layers are shown once, with \
        their number. A remedy is a change of annotations with which the program was partitioned again. For a value, its sharding, and \
        for each axis the annotation from which it comes and the operations that propagated it."
    )]
    Explain(ExplainArgs),
    /// Predict memory, communication and time of a program on devices that need not be present
    #[command(after_help = "Examples:\n  shardc plan step.mlir --target v5p:4x4x4\n  \
        shardc plan step.mlir --fsdp \"full_shard auto_wrap\" --mesh fsdp=64 --target h100:8x8\n  \
        shardc plan step.mlir --target v5e:16x16:2 --memory 12GiB --json plan.json\n  \
        shardc plan step.mlir --target cluster.toml --fits\n\n\
        Output: the memory of a device by class, with the largest buffers at the peak; the bytes of collectives by kind, axis and link; \
        the time of one execution with what overlaps, and the share of peak arithmetic (HFU); the changes that help most. Times assume \
        peak rates.")]
    Plan(Box<PlanArgs>),
    /// Choose the mesh and the shardings with the least estimated time that fit in memory
    #[command(after_help = "Examples:\n  shardc auto step.mlir --target v5p:4x4x4\n  \
        shardc auto step.mlir --target h100 --devices 16 --memory 60GiB -o annotated.mlir\n  \
        shardc auto model.mlir --target v5e:2x4 --mesh data=4,model=2 --spec arg0=data,-\n  \
        shardc auto annotated.mlir --target v5e:4x4 --ignore-shardings\n\n\
        Output: the mesh, the strategy in the words of --fsdp, the shardings of arguments, a lower bound on the time of all shardings, and \
        what the next best choices would cost. The same input gives the same answer. Exit code: 0 the program fits, 1 it does not or was \
        rejected, 2 wrong usage.")]
    Auto(Box<AutoArgs>),
    /// Write a short text about the partitioned program, to commit beside a model and compare in CI
    #[command(after_help = "Examples:\n  shardc snapshot step.mlir -o step.snapshot\n  \
        shardc snapshot plain.mlir --fsdp full_shard --mesh fsdp=64 -o plain.snapshot\n  \
        shardc snapshot step.mlir --format json\n\n\
        Output: the mesh, the shardings of arguments and results, the collectives by kind and mesh axes with their bytes, the estimated \
        memory of a device, and the warnings by code.")]
    Snapshot(Box<SnapshotArgs>),
    /// Compare two versions of a program, or their snapshots, and fail if they send more or need more memory
    #[command(after_help = "Examples:\n  shardc diff step.snapshot step.mlir\n  \
        shardc diff before.mlir after.mlir --threshold 1% --threshold-memory 2%\n  \
        shardc diff before.snapshot after.snapshot --format json\n\n\
        Output: changed shardings, collectives, memory and warnings. For two programs, also the annotations and operations that cause \
        each change. The options apply to both programs. Exit code: 0 no growth above the thresholds, 1 growth or a rejected program, \
        2 wrong usage.")]
    Diff(Box<DiffArgs>),
    /// Write a program that returns the gradient of a result with respect to some arguments
    #[command(after_help = "Examples:\n  shardc grad loss.mlir --wrt params --value -o grad.mlir\n  \
        shardc grad loss.mlir --wrt arg0,arg3 --of 1 -o grad.mlir\n  \
        shardc grad loss.mlir --wrt params --rule flash=flash_forward,flash_backward -o grad.mlir\n\n\
        The program keeps its arguments. It returns the value (with --value), then one gradient for each argument named, in argument \
        order. Gradients have the shardings of their arguments, so the program can be partitioned without more annotations.")]
    Grad(DerivativeArgs),
    /// Write a program that returns the Jacobian-vector product (forward mode) with respect to some arguments
    #[command(after_help = "Example:\n  shardc jvp model.mlir --wrt params --value -o tangents.mlir\n\n\
        The program takes one tangent for each argument named, after its own arguments. It returns the values (with --value), then one \
        tangent for each result.")]
    Jvp(DerivativeArgs),
    /// Run selected passes, for compiler engineers
    #[command(
        after_help = "Examples:\n  shardc opt step.mlir --passes inline,propagate,plan -o planned.mlir\n  \
        shardc opt tests.mlir -split-input-file -verify-diagnostics -sdy-basic-propagate\n\n\
        Output: the program after the last pass. The verifier runs before and after each pass. As in mlir-opt, options may have one \
        dash, and a pass may be written as an option."
    )]
    Opt(OptArgs),
    /// Show how each operation is partitioned when one of its dimensions is sharded
    #[command(after_help = "Examples:\n  shardc ops\n  shardc ops dot_general\n  shardc ops --json\n\n\
        Output: a row for each factor of the operation, with its dimensions, its derivative, and the communication for even and uneven \
        shards. The table is measured: for each operation, a small program is partitioned.")]
    Ops(OpsArgs),
    /// Run a language server for editors, on standard input and output
    #[command(after_help = "Examples:\n  shardc lsp\n  shardc lsp --target v5p:4x4x4\n\n\
        An editor starts this command for .mlir files, and speaks the Language Server Protocol with it: errors and warnings while you \
        type, shardings and collectives on hover, local shapes beside values, and navigation. The options apply to all programs. \
        docs/EDITORS.md has the settings of several editors.")]
    Lsp(LspArgs),
    /// Find, install and check PJRT plugins
    #[command(
        after_help = "Examples:\n  shardc plugin list\n  shardc plugin install cpu\n  shardc plugin doctor\n  \
        shardc plugin doctor --plugin xla_cpu_pjrt.so"
    )]
    Plugin(PluginArgs),
    /// Shard a training step without annotations: FSDP, ZeRO, data parallelism
    #[command(after_help = "Examples:\n  shardc fsdp roles step.mlir\n  \
        shardc fsdp estimate step.mlir --mesh fsdp=8\n  \
        shardc fsdp apply step.mlir --fsdp \"full_shard auto_wrap\" --mesh fsdp=8 -o annotated.mlir\n  \
        shardc partition step.mlir --config accelerate.yaml -o out.mlir --summary\n  \
        shardc fsdp estimate --parameters 7.5e9 --devices 64")]
    Fsdp(FsdpArgs),
    /// Add low-rank adapters (LoRA) to the linear layers of a program
    #[command(
        after_help = "Examples:\n  shardc lora model.mlir --rank 8 --targets wq,wv -o adapted.mlir\n  \
        shardc grad adapted.mlir --wrt lora --value -o grad.mlir\n  \
        shardc lora model.mlir --rank 8 --alpha 16 -o adapted.mlir --init init.mlir --merge merge.mlir\n\n\
        The input is a forward program: a loss, or any other function. The output takes adapters after the arguments: \
        lora.NAME.a (inputs x rank) and lora.NAME.b (rank x outputs). If all b are zero, the results do not change. The linear layers and \
        the fraction of parameters that is trained are printed on standard error."
    )]
    Lora(LoraArgs),
    /// List, show, verify, compare, reshard, consolidate and convert checkpoints
    #[command(
        after_help = "Examples:\n  shardc checkpoint ls runs/mnist\n  shardc checkpoint show runs/mnist/100\n  \
        shardc checkpoint verify runs/mnist --all\n  shardc checkpoint diff runs/a/100 runs/b/100\n  \
        shardc checkpoint reshard runs/mnist/100 for-serving --mesh model=4\n  \
        shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.pth\"\n  \
        shardc checkpoint convert pytorch_model.bin -o model.safetensors"
    )]
    Checkpoint(CheckpointArgs),
    /// Explain a diagnostic code, or print the help of a command
    #[command(
        after_help = "Examples:\n  shardc help SH0310\n  shardc help partition\n  shardc help fsdp apply"
    )]
    Help {
        /// A code, or a command with its subcommand
        #[arg(value_name = "CODE|COMMAND")]
        topic: Vec<String>,
    },
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  shardc completions bash > ~/.local/share/bash-completion/completions/shardc"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, or write one manual page for each command
    #[command(after_help = "Examples:\n  shardc man | man -l -\n  shardc man --dir ~/.local/share/man/man1")]
    Man {
        /// The folder to which one page for each command is written
        #[arg(long = "dir", value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    #[command(name = "__aot-compile", hide = true)]
    AotCompile { request: PathBuf },
}

impl Command {
    /// Whether the command's own option `--json` is given.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Command::Lint(args) => args.json,
            Command::Ops(args) => args.json,
            _ => false,
        }
    }
}
