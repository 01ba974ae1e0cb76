//! The table of the comparison.

use std::fmt::Write as _;

use super::{Row, compile::Verdict};
use crate::bench::page::{Compared, collectives, three_digits, under};

/// Bytes added to the numerator and denominator of a ratio, so that programs that send almost nothing neither cause divisions by zero nor
/// dominate the mean.
const GRAIN: f64 = 16.0 * 1024.0;

/// A measured quantity.
struct Quantity {
    name: &'static str,
    of: fn(&Verdict) -> f64,
    grain: f64,
    /// Upper bound of the ratio of shardc's quantity to XLA's.
    bound: f64,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity { name: "sent", of: |verdict| verdict.sent, grain: GRAIN, bound: 1.0 },
    Quantity { name: "temporaries", of: |verdict| verdict.temporaries, grain: GRAIN, bound: 1.05 },
    Quantity { name: "cycles", of: |verdict| verdict.cycles, grain: 1.0, bound: 1.02 },
    Quantity {
        name: "sent, where each step of an overlapped all-gather counts",
        of: |verdict| verdict.sent_by_steps,
        grain: GRAIN,
        bound: 1.0,
    },
];

impl Quantity {
    fn ratio(&self, ours: &Verdict, xla: &Verdict) -> f64 {
        ((self.of)(ours) + self.grain) / ((self.of)(xla) + self.grain)
    }
}

/// The comparison of a program as one line for the terminal.
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
            let outcome =
                |side: &super::Side| side.as_ref().err().map_or_else(|| "compiles".to_owned(), Clone::clone);
            let _ = write!(out, " shardc's: {}; XLA's: {}", outcome(ours), outcome(xla));
        }
    }
    out
}

/// The table in Markdown, followed by the means and the programs above the bounds.
pub(super) fn page(rows: &[Row]) -> String {
    let mut out = String::from(
        "| program | slice | sent: XLA | ours | ratio | temporaries: XLA | ours | ratio | cycles: ratio | \
         collectives: XLA | ours | closed form | sent / closed form |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---|---|---:|---:|\n",
    );
    let mut ratios: [Vec<(f64, &str)>; QUANTITIES.len()] = Default::default();
    let mut missing = Vec::new();
    for row in rows {
        let (ours, xla) = match (&row.ours, &row.xla) {
            (Ok(ours), Ok(xla)) => (ours, xla),
            (Ok(ours), Err(why)) => {
                missing.push(format!(
                    "`{}` ({}): XLA's own partition does not compile: {why}. shardc's sends {} and has {} of temporaries.",
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
                    "`{}` ({}): shardc's partition does not compile ({theirs}): {why}.",
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
    let compared: Vec<Compared<'_>> = QUANTITIES
        .iter()
        .zip(ratios)
        .map(|(q, ratios)| Compared { quantity: q.name, ratios, bound: q.bound })
        .collect();
    out + &under("XLA's", &compared, &missing)
}

/// Formats a number of bytes as in `1.31 GB`, `143 MB` and `384 B`.
fn bytes(n: f64) -> String {
    match n {
        n if n < 1e3 => format!("{n:.0} B"),
        n => three_digits(n, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sending(sent: f64) -> Verdict {
        let collectives = BTreeMap::from([("all-gather".to_owned(), 2)]);
        Verdict { sent, sent_by_steps: sent, temporaries: 1e9, cycles: 100.0, collectives }
    }

    fn row(name: &str, ours: f64, xla: Result<Verdict, String>) -> Row {
        Row {
            name: name.to_owned(),
            topology: "v5e:2x4",
            ours: Ok(sending(ours)),
            xla,
            closed_form: Some(1e9),
        }
    }

    #[test]
    fn means_and_exceeded_bounds_are_printed() {
        let rows = [row("a", 2e9, Ok(sending(1e9))), row("b", 1e9, Ok(sending(2e9)))];
        let page = page(&rows);
        assert!(page.contains("| `a` | v5e:2x4 | 1.00 GB | 2.00 GB | 2.000 |"), "{page}");
        assert!(page.contains("| AG 2 | AG 2 | 1.00 GB | 2.000 |"), "{page}");
        let means = "* sent: 1.000 of XLA's in the geometric mean of 2 programs; above 1: `a` 2.000\n";
        assert!(page.contains(means), "{page}");
        assert!(page.contains("* temporaries: 1.000 of XLA's"), "{page}");
    }

    #[test]
    fn programs_that_one_compiler_rejects_are_separate() {
        let page = page(&[row("a", 2e6, Err("out of memory".to_owned()))]);
        assert!(
            page.contains("XLA's own partition does not compile: out of memory. shardc's sends 2.00 MB"),
            "{page}"
        );
        assert!(page.contains("mean of 0 programs"), "{page}");
    }

    #[test]
    fn bytes_have_three_digits() {
        assert_eq!(
            [384.0, 1792.0, 14.56e6, 143e6, 1.307e9].map(bytes),
            ["384 B", "1.79 kB", "14.6 MB", "143 MB", "1.31 GB"]
        );
    }
}
