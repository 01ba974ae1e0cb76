//! The estimate of each strategy, for training steps without annotations.

use std::{fmt::Write as _, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{asked, bytes_of, command, estimated, need};
use crate::{bench::BenchArgs, workspace::Workspace};

/// Strategies in words, and the mesh of each.
const STRATEGIES: [(&str, &str); 6] = [
    ("no_shard", "data=8"),
    ("zero1", "data=8"),
    ("shard_grad_op", "data=8"),
    ("full_shard", "data=8"),
    ("hybrid_shard", "node=2,fsdp=4"),
    ("hybrid_shard_zero2", "node=2,fsdp=4"),
];

/// Below this, what programs need besides arguments stays in the fast memory of a TPU.
const SMALL: f64 = 64.0 * 1024.0 * 1024.0;

/// A table of ratios: of arguments, and of all that is needed, where that is not small.
pub(super) fn table(
    workspace: &Workspace,
    args: &BenchArgs,
    shardc: &Path,
    steps: &mut Value,
) -> Result<String> {
    let mut table = format!(
        "| step | slice |{}\n|---|---|",
        STRATEGIES.map(|(words, _)| format!(" `{words}` |")).concat()
    );
    table.push_str(&"---:|".repeat(STRATEGIES.len()));
    for step in steps.as_array_mut().context("the figures have no strategies")? {
        let name = step["name"].as_str().unwrap_or_default().to_owned();
        if !args.wants(&name, || true) {
            continue;
        }
        let slice = step["slice"].as_str().context("a step has no slice")?.to_owned();
        let mut line = format!("| `{name}` | {slice} |");
        for (words, mesh) in STRATEGIES {
            let words_of_all = format!("{words} {}", step["settings"].as_str().unwrap_or_default());
            let by = |subcommand: &str| {
                let mut command = command(workspace, shardc, step, subcommand)?;
                command.args(["--fsdp", words_of_all.trim(), "--mesh", mesh]);
                anyhow::Ok(command)
            };
            let (mut compile, mut partition) = (by("compile")?, by("partition")?);
            if args.tpu {
                step["compiler"][words] = asked(&mut compile, &slice)?;
            }
            let (ours, theirs) = (estimated(&mut partition)?, &step["compiler"][words]);
            let arguments = bytes_of(&ours, "arguments")? / bytes_of(theirs, "arguments")?;
            let (peak, need) = (bytes_of(&ours, "peak")?, need(theirs)?);
            let _ = if need > SMALL {
                write!(line, " {arguments:.4}, {:.3} |", peak / need)
            } else {
                write!(line, " {arguments:.4} |")
            };
        }
        println!("{line}");
        table.push('\n');
        table.push_str(&line);
    }
    Ok(table)
}
