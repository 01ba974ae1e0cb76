//! The stages of a long command: their times, and a spinner on a terminal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

/// The stages that have ended, and the current stage.
pub(crate) struct Progress {
    visible: bool,
    /// The spinner; `None` if no stage is shown.
    bar: Option<ProgressBar>,
    stages: Vec<(String, Duration)>,
    current: Option<(String, Instant)>,
}

impl Progress {
    pub(super) fn start(visible: bool) -> Progress {
        Progress { visible, bar: None, stages: Vec::new(), current: None }
    }

    /// Ends the current stage, and begins the stage `name`.
    pub(crate) fn stage(&mut self, name: &str) {
        self.end();
        if self.visible {
            self.bar.get_or_insert_with(spinner).set_message(name.to_owned());
        }
        self.current = Some((name.to_owned(), Instant::now()));
    }

    /// Returns the spinner, whose message threads can change; `None` if it is not shown.
    pub(crate) fn handle(&self) -> Option<ProgressBar> {
        self.bar.clone()
    }

    fn end(&mut self) {
        if let Some((name, since)) = self.current.take() {
            self.stages.push((name, since.elapsed()));
        }
    }

    /// Ends the current stage, and clears its line for other output.
    pub(crate) fn pause(&mut self) {
        self.end();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Ends the last stage. Returns the seconds of each stage by name; times of stages with the same name are added.
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
