//! The command line of `shardc opt`, which is also mlir-opt's.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::program::{Mode, ObserveArgs, StopArgs, SymbolicArgs, ToArgs};

#[derive(Args, Debug)]
pub(crate) struct OptArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: Option<PathBuf>,
    /// Passes in order, separated by commas, with options as in pass{name=value}; `list` shows them
    #[arg(long, value_name = "PASSES", value_delimiter = ',')]
    pub(crate) passes: Vec<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// How devices see one another
    #[arg(long, value_enum, default_value_t = Mode::Replica)]
    pub(crate) spmd_mode: Mode,
    /// Take lines of `// -----` for separators of programs; each is a program of its own
    #[arg(long)]
    pub(crate) split_input_file: bool,
    /// Compare errors and warnings with the comments that expect them (`expected-error@+1 {{...}}`).
    ///
    /// Texts are MLIR's words, so that they need not agree, unless they begin with a code: {{SH0102}}
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "line")]
    pub(crate) verify_diagnostics: Option<Expect>,
    #[command(flatten)]
    pub(crate) to: ToArgs,
    /// The same as --emit generic
    #[arg(long, conflicts_with = "emit")]
    pub(crate) mlir_print_op_generic: bool,
    /// Write source locations
    #[arg(long)]
    pub(crate) mlir_print_debuginfo: bool,
    /// Nothing: unknown dialects are always let through
    #[arg(long, hide = true)]
    pub(crate) allow_unregistered_dialect: bool,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

/// What has to agree with an expectation.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Expect {
    /// Whether it is an error or a warning, anywhere in the program
    Kind,
    /// That and the line; the text only where it begins with a code of shardc's
    Line,
    /// That, the line and the text
    Text,
}

/// The command line with mlir-opt's way of writing options turned into that of this program: `-option` for
/// `--option`, and `-pass=options` for `--passes=pass{options}`.
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

/// Where the command stands: behind options of every command.
fn command(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(option) = args.get(at)?.to_str().filter(|arg| arg.starts_with('-')) {
        at += if option == "--format" || option == "--color" { 2 } else { 1 };
    }
    Some(at)
}
