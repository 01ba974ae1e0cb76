//! Stages of long work: a spinner on a terminal, silence otherwise, and how long each took.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Outputs;

/// The stages so far.
pub(crate) struct Progress {
    visible: bool,
    /// While a stage is shown.
    bar: Option<ProgressBar>,
    stages: Vec<(String, Duration)>,
    current: Option<(String, Instant)>,
}

impl Progress {
    pub(super) fn start(visible: bool) -> Progress {
        Progress { visible, bar: None, stages: Vec::new(), current: None }
    }

    /// The stage before ends, this one begins.
    pub(crate) fn stage(&mut self, name: &str) {
        self.end();
        if self.visible {
            self.bar.get_or_insert_with(spinner).set_message(name.to_owned());
        }
        self.current = Some((name.to_owned(), Instant::now()));
    }

    fn end(&mut self) {
        if let Some((name, since)) = self.current.take() {
            self.stages.push((name, since.elapsed()));
        }
    }

    /// The stage ends; the line is free for other output.
    pub(crate) fn pause(&mut self) {
        self.end();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// All is done; the times go where the user wants them.
    pub(crate) fn finish(mut self, outputs: &mut Outputs, timings: Option<&Path>) -> Result<()> {
        self.pause();
        if let Some(path) = timings {
            // A stage may come round more than once.
            let mut times: BTreeMap<&str, f64> = BTreeMap::new();
            for (name, time) in &self.stages {
                *times.entry(name).or_default() += time.as_secs_f64();
            }
            outputs.put(path, format!("{}\n", serde_json::to_string(&times)?))?;
        }
        Ok(())
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
