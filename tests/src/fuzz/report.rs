//! The report of a fuzzing run.

use std::{collections::BTreeMap, fmt, time::Duration};

/// Maximum number of printed rejection codes.
const CODES: usize = 12;

/// The results of a fuzzing run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The fuzzer.
    pub name: String,
    /// Number of cases.
    pub cases: u64,
    /// Wall-clock time of all cases.
    pub time: Duration,
    /// Number of cases that passed each stage.
    pub passed: BTreeMap<String, u64>,
    /// Number of rejected cases, by stage and code.
    pub refused: BTreeMap<String, u64>,
    /// The cases of each kind of finding.
    pub findings: BTreeMap<String, Vec<u64>>,
    /// The slowest case.
    pub slowest: (Duration, u64),
}

impl Report {
    /// The percentage of cases that passed `stage`.
    #[must_use]
    pub fn percent(&self, stage: &str) -> u64 {
        100 * self.passed.get(stage).copied().unwrap_or(0) / self.cases.max(1)
    }

    /// Writes a table of the outcomes of generated features, with one line for each class of a thing. Stages named `@thing@class@what`
    /// count these outcomes.
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: BTreeMap<(&str, &str), BTreeMap<&str, u64>> = BTreeMap::new();
        for (stage, &count) in &self.passed {
            let words: Vec<&str> = stage.split('@').collect();
            if let ["", thing, class, what] = words[..] {
                *rows.entry((thing, class)).or_default().entry(what).or_default() += count;
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let columns = ["drawn", "in parts", "refused", "back end refused", "compared"];
        write!(f, "  {:<60}", "")?;
        columns.iter().try_for_each(|column| write!(f, " {column:>16}"))?;
        writeln!(f)?;
        for ((thing, class), counts) in &rows {
            let title = if class.is_empty() { (*thing).to_owned() } else { format!("  {class}") };
            write!(f, "  {title:<60}")?;
            for column in columns {
                write!(f, " {:>16}", counts.get(column).copied().unwrap_or(0))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// Cases per minute.
    #[must_use]
    pub fn rate(&self) -> u64 {
        (self.cases as f64 / self.time.as_secs_f64().max(0.001) * 60.0) as u64
    }
}

fn by_count(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut all: Vec<_> = counts.iter().map(|(name, &count)| (name.as_str(), count)).collect();
    all.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    all
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { name, cases, time, slowest, .. } = self;
        let (seconds, rate) = (time.as_secs(), self.rate());
        writeln!(
            f,
            "{name}: {cases} cases in {} min {:02} s, {rate} per minute",
            seconds / 60,
            seconds % 60
        )?;
        writeln!(f, "  slowest: {} ms, case {}", slowest.0.as_millis(), slowest.1)?;
        for (stage, count) in by_count(&self.passed).into_iter().filter(|(stage, _)| !stage.starts_with('@'))
        {
            writeln!(f, "  passed {stage:<28} {count:>9} {:>4} %", self.percent(stage))?;
        }
        self.table(f)?;
        let refused = by_count(&self.refused);
        for (why, count) in refused.iter().take(CODES) {
            writeln!(f, "  refused: {why:<26} {count:>9}")?;
        }
        let rest: u64 = refused.iter().skip(CODES).map(|(_, count)| count).sum();
        if rest > 0 {
            writeln!(f, "  refused: {:<26} {rest:>9}", format!("{} others", refused.len() - CODES))?;
        }
        if self.findings.is_empty() {
            return writeln!(f, "  nothing found");
        }
        for (kind, all) in &self.findings {
            let shown: Vec<String> = all.iter().take(5).map(ToString::to_string).collect();
            let dots = if all.len() > 5 { ", ..." } else { "" };
            writeln!(f, "  FOUND {kind}: {} times, case {}{dots}", all.len(), shown.join(", "))?;
        }
        Ok(())
    }
}
