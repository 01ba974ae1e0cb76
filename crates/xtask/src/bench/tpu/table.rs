//! The comparison as a table.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result};

use super::{Row, compile::Verdict};

/// Between these lines of the page stands the table.
const MARKS: [&str; 2] = ["<!-- begin: cargo xtask bench --tpu --update -->", "<!-- end -->"];

/// Added to both sides of a ratio, so that programs which send next to nothing neither divide by zero nor decide.
const GRAIN: f64 = 16.0 * 1024.0;

/// The most that ours may be of XLA's: what is sent, temporaries, cycles.
const BOUNDS: [f64; 3] = [1.0, 1.05, 1.02];

/// A measured quantity.
struct Quantity {
    name: &'static str,
    of: fn(&Verdict) -> f64,
    grain: f64,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity { name: "sent", of: |verdict| verdict.sent, grain: GRAIN },
    Quantity { name: "temporaries", of: |verdict| verdict.temporaries, grain: GRAIN },
    Quantity { name: "cycles", of: |verdict| verdict.cycles, grain: 1.0 },
];

impl Quantity {
    fn ratio(&self, ours: &Verdict, xla: &Verdict) -> f64 {
        ((self.of)(ours) + self.grain) / ((self.of)(xla) + self.grain)
    }
}

/// One line for the terminal.
pub(super) fn line(row: &Row) -> String {
    let mut out = format!("{} ({}):", row.name, row.topology);
    match (&row.ours, &row.xla) {
        (Ok(ours), Ok(xla)) => {
            for quantity in &QUANTITIES {
                let _ = write!(out, " {} {:.3},", quantity.name, quantity.ratio(ours, xla));
            }
            let _ = write!(out, " {} -> {}", collectives(&xla.collectives), collectives(&ours.collectives));
        }
        (ours, xla) => {
            let said =
                |side: &super::Side| side.as_ref().err().map_or_else(|| "compiles".to_owned(), Clone::clone);
            let _ = write!(out, " ours: {}; XLA's: {}", said(ours), said(xla));
        }
    }
    out
}

/// The whole table in Markdown, with means and what is over the bounds.
pub(super) fn page(rows: &[Row]) -> String {
    let mut out = String::from(
        "| program | slice | sent: XLA | ours | ratio | temporaries: XLA | ours | ratio | cycles: ratio | \
         collectives: XLA | ours | closed form | sent / closed form |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---|---|---:|---:|\n",
    );
    let mut ratios: [Vec<(f64, &str)>; 3] = Default::default();
    let mut missing = Vec::new();
    for row in rows {
        let (ours, xla) = match (&row.ours, &row.xla) {
            (Ok(ours), Ok(xla)) => (ours, xla),
            (Ok(ours), Err(why)) => {
                missing.push(format!(
                    "`{}` ({}): XLA's own partition does not compile: {why}. Ours sends {} with {} of temporaries.",
                    row.name,
                    row.topology,
                    bytes(ours.sent),
                    bytes(ours.temporaries)
                ));
                continue;
            }
            (Err(why), xla) => {
                let theirs = if xla.is_ok() { "XLA's does" } else { "nor does XLA's" };
                missing.push(format!(
                    "`{}` ({}): ours does not compile ({theirs}): {why}.",
                    row.name, row.topology
                ));
                continue;
            }
        };
        for (list, quantity) in ratios.iter_mut().zip(&QUANTITIES) {
            list.push((quantity.ratio(ours, xla), &row.name));
        }
        let ratio = |i: usize| QUANTITIES[i].ratio(ours, xla);
        let (form, over) = match row.closed_form {
            Some(form) => (bytes(form), format!("{:.3}", (ours.sent + GRAIN) / (form + GRAIN))),
            None => (String::new(), String::new()),
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {:.3} | {} | {} | {:.3} | {:.3} | {} | {} | {form} | {over} |",
            row.name,
            row.topology,
            bytes(xla.sent),
            bytes(ours.sent),
            ratio(0),
            bytes(xla.temporaries),
            bytes(ours.temporaries),
            ratio(1),
            ratio(2),
            collectives(&xla.collectives),
            collectives(&ours.collectives),
        );
    }
    out.push('\n');
    for ((list, quantity), bound) in ratios.iter_mut().zip(&QUANTITIES).zip(BOUNDS) {
        let mean = (list.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / list.len().max(1) as f64).exp();
        list.sort_by(|a, b| b.0.total_cmp(&a.0));
        let over: Vec<String> = list
            .iter()
            .take_while(|(ratio, _)| *ratio > bound)
            .map(|(ratio, name)| format!("`{name}` {ratio:.3}"))
            .collect();
        let over = if over.is_empty() { "none".to_owned() } else { over.join(", ") };
        let _ = writeln!(
            out,
            "* {}: {mean:.3} of XLA's in the geometric mean of {} programs; above {bound}: {over}",
            quantity.name,
            list.len()
        );
    }
    for line in missing {
        let _ = writeln!(out, "* {line}");
    }
    out
}

/// Puts the table where it belongs in a file.
pub(super) fn replace(file: &Path, table: &str) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let text = between(&text, table)
        .with_context(|| format!("{} has no lines `{}` and `{}`", file.display(), MARKS[0], MARKS[1]))?;
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

fn between(text: &str, table: &str) -> Option<String> {
    let begin = text.find(MARKS[0])? + MARKS[0].len();
    let end = begin + text[begin..].find(MARKS[1])?;
    Some(format!("{}\n\n{}\n{}", &text[..begin], table.trim_end(), &text[end..]))
}

/// `1.31 GB`, `143 MB`, `384 B`.
fn bytes(n: f64) -> String {
    let (unit, size) = match n {
        n if n >= 1e9 => ("GB", 1e9),
        n if n >= 1e6 => ("MB", 1e6),
        n if n >= 1e3 => ("kB", 1e3),
        _ => return format!("{n:.0} B"),
    };
    let n = n / size;
    let digits = if n < 10.0 { 2 } else { usize::from(n < 100.0) };
    format!("{n:.digits$} {unit}")
}

/// `AG 12, AR 3`.
fn collectives(kinds: &BTreeMap<String, u64>) -> String {
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

    fn verdict(sent: f64) -> Verdict {
        let collectives = BTreeMap::from([("all-gather".to_owned(), 2)]);
        Verdict { sent, temporaries: 1e9, cycles: 100.0, collectives }
    }

    fn row(name: &str, ours: f64, xla: Result<Verdict, String>) -> Row {
        Row {
            name: name.to_owned(),
            topology: "v5e:2x4",
            ours: Ok(verdict(ours)),
            xla,
            closed_form: Some(1e9),
        }
    }

    #[test]
    fn means_and_what_is_over_are_told() {
        let rows = [row("a", 2e9, Ok(verdict(1e9))), row("b", 1e9, Ok(verdict(2e9)))];
        let page = page(&rows);
        assert!(page.contains("| `a` | v5e:2x4 | 1.00 GB | 2.00 GB | 2.000 |"), "{page}");
        assert!(page.contains("| AG 2 | AG 2 | 1.00 GB | 2.000 |"), "{page}");
        let means = "* sent: 1.000 of XLA's in the geometric mean of 2 programs; above 1: `a` 2.000\n";
        assert!(page.contains(means), "{page}");
        assert!(page.contains("* temporaries: 1.000 of XLA's"), "{page}");
    }

    #[test]
    fn what_only_one_side_compiles_is_told_apart() {
        let page = page(&[row("a", 2e6, Err("out of memory".to_owned()))]);
        assert!(
            page.contains("XLA's own partition does not compile: out of memory. Ours sends 2.00 MB"),
            "{page}"
        );
        assert!(page.contains("mean of 0 programs"), "{page}");
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let text = format!("before\n{}\nold\n{}\nafter\n", MARKS[0], MARKS[1]);
        let new = format!("before\n{}\n\nnew\n{}\nafter\n", MARKS[0], MARKS[1]);
        assert_eq!(between(&text, "new\n").as_deref(), Some(new.as_str()));
        assert_eq!(between(&new, "new\n").as_deref(), Some(new.as_str()));
        assert_eq!(between("nothing", "new"), None);
    }

    #[test]
    fn bytes_have_three_digits() {
        assert_eq!(
            [384.0, 1792.0, 14.56e6, 143e6, 1.307e9].map(bytes),
            ["384 B", "1.79 kB", "14.6 MB", "143 MB", "1.31 GB"]
        );
    }
}
