//! Stages of long work: a spinner on a terminal, silence otherwise, and how long each took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

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

    /// All is done: the seconds of each stage. A stage may come round more than once.
    pub(crate) fn finish(&mut self) -> Value {
        self.pause();
        let mut times: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, time) in &self.stages {
            *times.entry(name).or_default() += time.as_secs_f64();
        }
        json!(times)
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
