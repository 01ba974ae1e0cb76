//! The command lines of what looks at programs: `shardc explain`, `shardc lint`, `shardc ops`.

use std::path::PathBuf;

use clap::Args;

use super::program::{AnnotationArgs, InlineArgs, InputArgs, RuleArgs, number_of_bytes};

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// A value by its name in the file (%5, %arg0), or an argument or result by the front end's name of it
    #[arg(long, value_name = "NAME", group = "question")]
    pub(crate) value: Option<String>,
    /// An argument of the program, from 0, or the front end's name of it
    #[arg(long, value_name = "N", group = "question")]
    pub(crate) arg: Option<String>,
    /// A result of the program, from 0, or the front end's name of it
    #[arg(long, value_name = "N", group = "question")]
    pub(crate) result: Option<String>,
    /// What is made on a line of the file
    #[arg(long, value_name = "L", group = "question")]
    pub(crate) line: Option<usize>,
    /// A collective of the partitioned program, by its number in the summary
    #[arg(long, value_name = "K", group = "question")]
    pub(crate) collective: Option<usize>,
    #[command(flatten)]
    pub(crate) inline: InlineArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Show lists and ways whole, however long
    #[arg(long)]
    pub(crate) all: bool,
    /// Write the answer as JSON to a file; - for the standard output, as --format json does
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the answer as one page of HTML instead; - for the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    #[arg(required_unless_present = "list")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// A rule whose findings are errors, by name or code, or all; may be given several times
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// A rule that is left out, by name or code, or all
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// What is smaller is not worth a warning, where a rule is about bytes
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = number_of_bytes)]
    pub(crate) min_bytes: u64,
    /// How many findings of one rule are shown
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) max: usize,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the rules, and do nothing
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpsArgs {
    /// One operation, with or without its dialect
    #[arg(value_name = "OPERATION")]
    pub(crate) op: Option<String>,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the page of the documentation
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}
