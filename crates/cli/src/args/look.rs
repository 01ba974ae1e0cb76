//! Command-line arguments of the commands that inspect programs: `shardc explain`, `shardc snapshot`, `shardc diff`,
//! `shardc lint`, `shardc lsp`, `shardc ops`.

use std::path::PathBuf;

use clap::Args;
use shardc::Diagnostic;
use shardc::explain::OperandClass;
use shardc::prove::Options;

use super::StrategyArgs;
use super::program::{AnnotationArgs, HowArgs, InlineArgs, InputArgs, RuleArgs, TargetArgs, number_of_bytes};

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Explain a value, by its name in the file (%5, %arg0), or an argument or result, by its name in the front end
    #[arg(long, value_name = "NAME", group = "question")]
    pub(crate) value: Option<String>,
    /// Explain an argument, by its index from 0 or its name in the front end
    #[arg(long, value_name = "N", group = "question")]
    pub(crate) arg: Option<String>,
    /// Explain a result, by its index from 0 or its name in the front end
    #[arg(long, value_name = "N", group = "question")]
    pub(crate) result: Option<String>,
    /// Explain the values that a line of the file defines
    #[arg(long, value_name = "L", group = "question")]
    pub(crate) line: Option<usize>,
    /// Explain a collective of the partitioned program, by its number in the summary
    #[arg(long, value_name = "K", group = "question")]
    pub(crate) collective: Option<usize>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// The number of groups of equal collectives for which a remedy is searched, largest first; each takes up to two
    /// partitions of the program
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) remedies: usize,
    #[command(flatten)]
    pub(crate) inline: InlineArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Do not shorten long lists and propagation paths
    #[arg(long)]
    pub(crate) all: bool,
    /// Write the answer to a file as JSON; - for standard output, as with --format json
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the answer to a file as an interactive HTML page without external references; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Which collectives are explained.
#[derive(Args, Debug)]
#[command(next_help_heading = "Selection of collectives")]
pub(crate) struct SelectArgs {
    /// Explain only collectives of this kind, such as all_reduce; may be repeated
    #[arg(long, value_name = "KIND", value_delimiter = ',', conflicts_with = "question")]
    pub(crate) kind: Vec<String>,
    /// Explain only collectives along this mesh axis; may be repeated
    #[arg(long, value_name = "AXIS", value_delimiter = ',', conflicts_with = "question")]
    pub(crate) axis: Vec<String>,
    /// Explain only collectives whose operands have this class: weight, activation, gradient, optimizer or batch; may be
    /// repeated
    #[arg(long, value_name = "CLASS", value_delimiter = ',', conflicts_with = "question", value_parser = operand_class)]
    pub(crate) class: Vec<OperandClass>,
    /// Explain only groups of equal collectives for which a device sends this many bytes in one execution ("1MiB")
    #[arg(long, value_name = "BYTES", default_value = "0", conflicts_with = "question", value_parser = number_of_bytes)]
    pub(crate) min_bytes: u64,
}

/// Parses the name of a class of operands.
fn operand_class(text: &str) -> Result<OperandClass, String> {
    text.parse().map_err(|error: Diagnostic| {
        let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}{hint}", error.message)
    })
}

#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// The file to which the snapshot is written; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The first version: a snapshot, or a program; - for standard input
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The second version: a snapshot, or a program
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
    /// The growth of the bytes that a device sends above which the exit code is 1
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    pub(crate) threshold: f64,
    /// The growth of the estimated peak memory of a device above which the exit code is 1; by default the value of --threshold
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) threshold_memory: Option<f64>,
    /// The growth of the predicted time of one execution above which the exit code is 1, if --target has a grid; by default the value
    /// of --threshold
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) threshold_time: Option<f64>,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Parses a percentage to a factor: 1.5% is 0.015.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let valid = number.filter(|number| number.is_finite() && *number >= 0.0);
    valid.map(|number| number / 100.0).ok_or_else(|| "expected a percentage, as in 1% or 0.5%".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    /// The original program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    pub(crate) original: PathBuf,
    /// The partitioned program, or the result of another rewrite
    pub(crate) partitioned: PathBuf,
    /// The manifest that `shardc partition --manifest` wrote; without it, the shardings of the original's arguments and results
    /// describe the blocks
    pub(crate) manifest: Option<PathBuf>,
    /// An argument that only the second program has, and that is zero: its name, in which * matches any text; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "manifest")]
    pub(crate) zero: Vec<String>,
    /// The certificate that `shardc partition --certificate` wrote with the partition, to find what was changed in it since then
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// Check that the second program returns the gradient of the first result of the original
    #[arg(long, conflicts_with_all = ["manifest", "zero", "certificate", "no_test"])]
    pub(crate) gradient: bool,
    /// The differentiated arguments, as for `shardc grad`; by default those that the names of the results name, or else all of floats
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "gradient")]
    pub(crate) wrt: Vec<String>,
    /// Do not run the programs on random inputs if the proof is not complete
    #[arg(long)]
    pub(crate) no_test: bool,
    /// The number of elements that the test may compute on all devices, where a matmul counts its multiplications; 0 for no limit
    #[arg(long, value_name = "ELEMENTS", default_value_t = Options::WORK, conflicts_with_all = ["gradient", "no_test"])]
    pub(crate) work_limit: u64,
    /// If the partition is refuted, write the smallest pair of programs that still differs to this folder: original.mlir,
    /// partitioned.mlir and manifest.json, which `shardc prove` refutes too, and difference.json, with inputs and one element
    #[arg(long, value_name = "DIR", conflicts_with_all = ["gradient", "no_test"])]
    pub(crate) counter_example: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// The program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    #[arg(required_unless_present = "list")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Make the findings of a rule errors, by name or code, or all; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Disable a rule, by name or code, or all; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// The threshold in bytes: findings about fewer bytes are not reported
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = number_of_bytes)]
    pub(crate) min_bytes: u64,
    /// The maximum number of findings that are shown for each rule
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) max: usize,
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// List the rules and exit
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LspArgs {
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Ignored: clients add it to say that they use standard input and output
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpsArgs {
    /// Show only this operation; its dialect may be left out
    #[arg(value_name = "OPERATION")]
    pub(crate) op: Option<String>,
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the table as Markdown, as in docs/OPS.md
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}
