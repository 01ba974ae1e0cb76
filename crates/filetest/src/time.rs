//! The compute cycles and the bytes that the TPU compiler reports for strategies of training steps, from `tests/time.json`, and shardc's plans
//! of the same steps. Two strategies of a step are compared by rank: the compiler has no estimate of the time of collectives, so its figures
//! give no time of a step. The latency of small collectives counts more than their bytes, so their number is a third figure.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::root;

/// Figures that differ by a smaller fraction count as equal.
const EQUAL: f64 = 0.05;

/// The path of `tests/time.json`.
#[must_use]
pub fn file() -> PathBuf {
    root().join("time.json")
}

/// Reads `tests/time.json`.
///
/// # Errors
/// The file is missing or is not JSON.
pub fn figures() -> Result<Value> {
    let text = std::fs::read_to_string(file()).context("reading tests/time.json")?;
    serde_json::from_str(&text).context("reading tests/time.json")
}

/// A strategy of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// The name.
    pub name: String,
    /// The compiler's compute cycles.
    pub cycles: f64,
    /// The bytes that a device sends, as the compiler counts them.
    pub sent: f64,
    /// The number of collectives that a device executes.
    pub collectives: f64,
    /// The plan.
    pub plan: Plan,
}

/// The figures of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plan {
    /// Seconds of computation.
    pub compute: f64,
    /// Bytes that a device sends.
    pub sent: f64,
    /// Seconds of the step.
    pub seconds: f64,
}

/// Runs `shardc plan` on a file with options for the devices `slice`.
///
/// # Errors
/// The program cannot be planned.
pub fn plan(shardc: &Path, file: &Path, options: &Value, slice: &str) -> Result<Plan> {
    let mut command = Command::new(shardc);
    command.arg("plan").arg(file).args(texts(options)).args(["--target", slice]);
    command.args(["--no-changes", "--quiet", "--format", "json"]);
    let out = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(out.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&out.stderr));
    let plan: Value = serde_json::from_slice(&out.stdout).context("reading the plan")?;
    let number = |value: &Value| value.as_f64().context("the plan lacks a number");
    let sent = plan["communication"].as_array().into_iter().flatten().map(|row| number(&row["bytes"]));
    Ok(Plan {
        compute: number(&plan["time"]["compute"])?,
        sent: sent.sum::<Result<f64>>()?,
        seconds: number(&plan["time"]["seconds"])?,
    })
}

/// The texts of a list.
pub fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The pairs of strategies that the compiler ranks, and those that the plans rank the other way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    /// The number of pairs.
    pub pairs: usize,
    /// The wrong pairs, the better one by the compiler first.
    pub wrong: Vec<(String, String)>,
}

impl Ranks {
    /// Ranks steps: the better one has no more cycles, bytes and collectives, and less of one. Other pairs are not ranked.
    #[must_use]
    pub fn of_steps(strategies: &[Strategy]) -> Ranks {
        let figures = |of: &Strategy| [of.cycles, of.sent, of.collectives];
        let has_less =
            |a: &Strategy, b: &Strategy| figures(a).iter().zip(figures(b)).any(|(&a, b)| is_less(a, b));
        let is_better = |a: &Strategy, b: &Strategy| has_less(a, b) && !has_less(b, a);
        Ranks::of(strategies, is_better, |plan| plan.seconds)
    }

    /// Ranks computation by cycles.
    #[must_use]
    pub fn of_compute(strategies: &[Strategy]) -> Ranks {
        Ranks::of(strategies, |a, b| is_less(a.cycles, b.cycles), |plan| plan.compute)
    }

    /// Ranks communication by bytes.
    #[must_use]
    pub fn of_bytes(strategies: &[Strategy]) -> Ranks {
        Ranks::of(strategies, |a, b| is_less(a.sent, b.sent), |plan| plan.sent)
    }

    fn of(
        strategies: &[Strategy],
        is_better: impl Fn(&Strategy, &Strategy) -> bool,
        figure: impl Fn(&Plan) -> f64,
    ) -> Ranks {
        let mut ranks = Ranks::default();
        for better in strategies {
            for worse in strategies.iter().filter(|worse| is_better(better, worse)) {
                ranks.pairs += 1;
                if is_less(figure(&worse.plan), figure(&better.plan)) {
                    ranks.wrong.push((better.name.clone(), worse.name.clone()));
                }
            }
        }
        ranks
    }
}

/// Whether `a` is less than `b` by more than a negligible fraction.
fn is_less(a: f64, b: f64) -> bool {
    a < b * (1.0 - EQUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_with_an_order_are_ranked() {
        let strategy = |name: &str, cycles: f64, sent: f64, seconds: f64| Strategy {
            name: name.to_owned(),
            cycles,
            sent,
            collectives: 1.0,
            plan: Plan { compute: cycles, sent, seconds },
        };
        // `b` has more cycles and fewer bytes than `a`; `c` has most of both, and is planned as faster than `b`.
        let all = [strategy("a", 1.0, 9.0, 1.0), strategy("b", 2.0, 3.0, 3.0), strategy("c", 3.0, 10.0, 2.0)];
        let steps = Ranks::of_steps(&all);
        assert_eq!(steps.pairs, 2);
        assert_eq!(steps.wrong, [("b".to_owned(), "c".to_owned())]);
        assert_eq!(Ranks::of_compute(&all), Ranks { pairs: 3, wrong: Vec::new() });
        assert_eq!(Ranks::of_bytes(&all).pairs, 3);
    }
}
