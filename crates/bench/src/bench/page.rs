//! Tables of comparisons with XLA, and the documentation pages that contain them.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

/// The page with the summary of each table.
const PAGE: &str = "docs/QUALITY.md";

/// The folder of the pages with the tables.
const TABLES: &str = "docs/results";

/// The marker after the last line of each table.
const END: &str = "<!-- end -->";

/// Lines of a table's page that contain these words are copied to the summary.
const MEAN: &str = "in the geometric mean of";

/// Writes the table of `cargo xtask bench COMMAND` to its page, and its summary to the page of summaries.
pub(super) fn update(workspace: &Workspace, command: &str, table: &str) -> Result<()> {
    let name = name(command);
    let link = format!("All rows: [results/{name}.md](results/{name}.md).\n");
    let tables = format!("{TABLES}/{name}.md");
    replace(&workspace.root.join(tables), command, table)?;
    replace(&workspace.root.join(PAGE), command, &(summary(table) + &link))
}

/// Returns the summary of a table's page: the lines that compare all programs, followed by an empty line if there are any.
fn summary(table: &str) -> String {
    let lines: String =
        table.lines().filter(|line| line.contains(MEAN)).map(|line| format!("{line}\n")).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// The name of a table's page: `grad-tpu` for the command `--only grad --tpu`.
fn name(command: &str) -> String {
    let words = command.split_whitespace().map(|word| word.trim_start_matches('-'));
    words.filter(|word| *word != "only").collect::<Vec<_>>().join("-")
}

/// Replaces the text between the markers of a command in a file.
fn replace(file: &Path, command: &str, text: &str) -> Result<()> {
    let page = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let begin = begin(command);
    let page = replaced(&page, &begin, text)
        .with_context(|| format!("{} has no lines `{begin}` and `{END}`", file.display()))?;
    fs::write(file, page).with_context(|| format!("writing {}", file.display()))?;
    println!("written to {}", file.display());
    Ok(())
}

/// The marker before the first line of a table.
fn begin(command: &str) -> String {
    format!("<!-- begin: cargo xtask bench {command} --update -->")
}

fn replaced(text: &str, begin: &str, table: &str) -> Option<String> {
    let begin = text.find(begin)? + begin.len();
    let end = begin + text[begin..].find(END)?;
    Some(format!("{}\n\n{}\n\n{}", &text[..begin], table.trim_end(), &text[end..]))
}

/// A quantity of shardc compared with a peer's.
pub(super) struct Compared<'a> {
    pub(super) quantity: &'a str,
    /// The ratio of shardc's value to the peer's, for each program.
    pub(super) ratios: Vec<(f64, &'a str)>,
    /// The upper bound of a ratio.
    pub(super) bound: f64,
}

/// One line with the geometric mean of the ratios, and the programs above the bound, in descending order of their ratios.
fn verdict(peer: &str, Compared { quantity, ratios, bound }: &Compared<'_>) -> String {
    let count = ratios.len();
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / count.max(1) as f64).exp();
    let mut over: Vec<&(f64, &str)> = ratios.iter().filter(|(ratio, _)| ratio > bound).collect();
    over.sort_by(|a, b| b.0.total_cmp(&a.0));
    let over: Vec<String> = over.iter().map(|(ratio, name)| format!("`{name}` {ratio:.3}")).collect();
    let over = if over.is_empty() { "none".to_owned() } else { over.join(", ") };
    format!("* {quantity}: {mean:.3} of {peer} {MEAN} {count} programs; above {bound}: {over}")
}

/// Returns the lines after a table. For each quantity, a line compares shardc with `peer` ("XLA's") and lists the programs above the bound.
/// The lines `missing`, about programs that are not in the table, follow.
pub(super) fn under(peer: &str, quantities: &[Compared<'_>], missing: &[String]) -> String {
    let verdicts = quantities.iter().map(|compared| verdict(peer, compared));
    let missing = missing.iter().map(|line| format!("* {line}"));
    let lines: Vec<String> = verdicts.chain(missing).collect();
    format!("\n{}\n", lines.join("\n"))
}

/// Formats a quantity as `14.6 ms`: with three digits, in the largest unit in which it is at least one, or else in the last unit.
pub(super) fn three_digits(quantity: f64, units: &[(&str, f64)]) -> String {
    let found = units.iter().find(|(_, size)| quantity >= *size).or(units.last());
    let (unit, size) = found.copied().unwrap_or(("", 1.0));
    let n = quantity / size;
    let digits = match n {
        n if n < 10.0 => 2,
        n if n < 100.0 => 1,
        _ => 0,
    };
    format!("{n:.digits$} {unit}")
}

/// Formats counts of collectives as `AG 12, AR 3`.
pub(super) fn collectives(kinds: &BTreeMap<String, u64>) -> String {
    let short = |kind: &str| match kind {
        "all-gather" => "AG".to_owned(),
        "all-reduce" => "AR".to_owned(),
        "reduce-scatter" => "RS".to_owned(),
        "all-to-all" => "AA".to_owned(),
        "collective-permute" => "CP".to_owned(),
        other => other.to_owned(),
    };
    let parts: Vec<String> = kinds.iter().map(|(kind, n)| format!("{} {n}", short(kind))).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_between_markers_is_replaced() {
        let begin = begin("--tpu");
        let text = format!("before\n{begin}\nold\n{END}\nafter\n{END}\n");
        let new = format!("before\n{begin}\n\nnew\n\n{END}\nafter\n{END}\n");
        assert_eq!(replaced(&text, &begin, "new\n").as_deref(), Some(new.as_str()));
        assert_eq!(replaced(&new, &begin, "new\n").as_deref(), Some(new.as_str()));
        assert_eq!(replaced("nothing", &begin, "new"), None);
    }

    #[test]
    fn each_command_has_a_page() {
        assert_eq!(name("--tpu"), "tpu");
        assert_eq!(name("--only memory"), "memory");
        assert_eq!(name("--only grad --tpu"), "grad-tpu");
    }

    #[test]
    fn a_summary_is_the_lines_with_a_mean() {
        let line = "* sent: 0.5 of XLA's in the geometric mean of 22 programs; above 1: none\n";
        assert_eq!(summary(&format!("| `a` | 1 |\n\n{line}* `b` does not compile\n")), format!("{line}\n"));
        assert_eq!(summary("| `a` | 1 |\n"), "");
    }

    #[test]
    fn the_mean_is_geometric_and_the_worst_case_is_first() {
        let sent = |ratios| verdict("XLA's", &Compared { quantity: "sent", ratios, bound: 1.0 });
        let line = sent(vec![(1.5, "a"), (0.5, "b"), (2.0, "c")]);
        let mean = 1.5_f64.cbrt();
        let rest = "of XLA's in the geometric mean of 3 programs; above 1: `c` 2.000, `a` 1.500";
        assert_eq!(line, format!("* sent: {mean:.3} {rest}"));
        assert!(sent(Vec::new()).ends_with("of 0 programs; above 1: none"));
    }
}
