//! `cargo xtask test --slowest`: the slowest tests of the last run, from nextest's report.

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context, Result};
use quick_junit::Report;

use crate::{process, workspace::Workspace};

/// The path of nextest's report in the target folder, as set in `.config/nextest.toml`.
const REPORT: &str = "nextest/default/junit.xml";

/// Prints the slowest tests, then the slowest test binaries.
pub(crate) fn list(workspace: &Workspace, most: usize) -> Result<()> {
    let path = workspace.target.join(REPORT);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("reading {}, which `cargo xtask test test` writes", path.display()))?;
    print!("{}", table(&text, most)?);
    Ok(())
}

fn table(text: &str, most: usize) -> Result<String> {
    let report = Report::deserialize_from_str(text).context("parsing the report of nextest")?;
    let mut tests = Vec::new();
    let mut binaries: BTreeMap<&str, Duration> = BTreeMap::new();
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            let time = case.time.unwrap_or_default();
            *binaries.entry(suite.name.as_str()).or_default() += time;
            tests.push((time, format!("{} {}", suite.name.as_str(), case.name.as_str())));
        }
    }
    let binaries = binaries.into_iter().map(|(name, time)| (time, name.to_owned())).collect();
    Ok(format!("{}\n{}", lines("tests", tests, most), lines("test binaries", binaries, most)))
}

/// Renders a heading with the total time, and a line for each of the `most` slowest entries.
fn lines(of: &str, mut all: Vec<(Duration, String)>, most: usize) -> String {
    let sum = all.iter().map(|(time, _)| *time).sum();
    let mut text = format!("{} {of}, {} total\n", all.len(), process::seconds(sum));
    all.sort_by(|a, b| b.cmp(a));
    for (time, name) in all.iter().take(most) {
        text += &format!("{:>12}  {name}\n", process::seconds(*time));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_listed_first() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="0" errors="0" time="75.0">
    <testsuite name="shardc-ir" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="reads" classname="shardc-ir" time="0.250"></testcase>
    </testsuite>
    <testsuite name="shardc-tests::lora" tests="2" disabled="0" errors="0" failures="0">
        <testcase name="trains" classname="shardc-tests::lora" time="65.000"></testcase>
        <testcase name="saves" classname="shardc-tests::lora" time="5.500"></testcase>
    </testsuite>
</testsuites>
"#;
        let expected = "3 tests, 1 min 10 s total
  1 min 05 s  shardc-tests::lora trains
       5.5 s  shardc-tests::lora saves

2 test binaries, 1 min 10 s total
  1 min 10 s  shardc-tests::lora
       0.2 s  shardc-ir
";
        assert_eq!(table(report, 2).unwrap(), expected);
        assert!(table("no report", 2).is_err());
    }
}
