//! The command line of `shardc opt`, which also accepts the notation of `mlir-opt`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::program::{Mode, ObserveArgs, StopArgs, SymbolicArgs, ToArgs};

#[derive(Args, Debug)]
pub(crate) struct OptArgs {
    /// The program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    pub(crate) input: Option<PathBuf>,
    /// The passes in order, separated by commas, with options as in pass{name=value}; `list` lists them
    #[arg(long, value_name = "PASSES", value_delimiter = ',')]
    pub(crate) passes: Vec<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// How devices are numbered in the partitioned program
    #[arg(long, value_enum, default_value_t = Mode::Replica)]
    pub(crate) spmd_mode: Mode,
    /// Split the file at `// -----` lines, and process each part as a program of its own
    #[arg(long)]
    pub(crate) split_input_file: bool,
    /// Compare errors and warnings with the comments that expect them (`expected-error@+1 {{...}}`).
    ///
    /// Expected texts are usually those of MLIR, so by default a text is compared only if it begins with a code: {{SH0102}}
    #[arg(long, value_enum, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "line")]
    pub(crate) verify_diagnostics: Option<Expect>,
    #[command(flatten)]
    pub(crate) to: ToArgs,
    /// Same as --emit generic
    #[arg(long, conflicts_with = "emit")]
    pub(crate) mlir_print_op_generic: bool,
    /// Write source locations
    #[arg(long)]
    pub(crate) mlir_print_debuginfo: bool,
    /// No effect: unknown dialects are always allowed
    #[arg(long, hide = true)]
    pub(crate) allow_unregistered_dialect: bool,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

/// The parts of a diagnostic that must match the expectation.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Expect {
    /// The severity (error or warning), anywhere in the program
    Kind,
    /// The severity and the line, and the text if it begins with a code
    Line,
    /// The severity, the line and the text
    Text,
}

/// Rewrites the options of `mlir-opt` as those of this program: `-option` becomes `--option`, and `-pass=options` becomes
/// `--passes=pass{options}`.
pub(crate) fn normalized(mut args: Vec<OsString>, is_pass: impl Fn(&str) -> bool) -> Vec<OsString> {
    let Some(command) = command(&args).filter(|&at| args[at] == "opt") else { return args };
    for arg in args.iter_mut().skip(command + 1) {
        let Some(text) = arg.to_str() else { continue };
        let Some(name) = text.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name)) else {
            continue;
        };
        let (pass, options) = name.split_once('=').unwrap_or((name, ""));
        if is_pass(pass) {
            let options = if options.is_empty() { String::new() } else { format!("{{{options}}}") };
            *arg = format!("--passes={pass}{options}").into();
        } else if !text.starts_with("--") && name.len() > 2 {
            *arg = format!("--{name}").into();
        }
    }
    args
}

/// The index of the command name, which is after the global options.
fn command(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(option) = args.get(at)?.to_str().filter(|arg| arg.starts_with('-')) {
        at += if option == "--format" || option == "--color" { 2 } else { 1 };
    }
    Some(at)
}
