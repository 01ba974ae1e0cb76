//! The result of a search for a terminal.

use std::fmt::Write as _;

use shardc_passes::report::byte_size::bytes_text;

use super::candidate::AS_ANNOTATED;
use super::report::{AutoReport, KeptReport, OPEN, ScoreReport, TriedReport};
use super::search::{ACCURACY, SIGNIFICANT};
use crate::plan::seconds_text;

/// The maximum number of rows of a list.
const ROWS: usize = 12;

/// The maximum number of groups of a candidate whose shardings are shown.
const PLACED: usize = 6;

/// The least relative difference of times that is reported.
const LEAST: f64 = 1e-3;

impl AutoReport {
    /// The report as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{} on {}: {} devices", self.source, self.target, self.devices);
        let _ = writeln!(out, "  mesh      {}", self.mesh);
        let order = if self.batch_first { "" } else { ", without priority of the batch" };
        let _ = writeln!(out, "  strategy  {}{order}", self.strategy_text(&self.strategy));
        self.write_kept(&mut out);
        if self.is_replicated {
            out.push_str("            nothing is sharded: each device computes the whole program, because sharding would cost more than it saves\n");
        }
        let bound = match (self.bound, self.gap) {
            (Some(bound), Some(gap)) => {
                format!("{gap:.2} times the lower bound, {} for {}", seconds_text(bound), self.bound_reason)
            }
            _ => "no lower bound is known".to_owned(),
        };
        let _ = writeln!(out, "  time      {}: {bound}", seconds_text(self.seconds));
        let links = if self.communication > 0.0 {
            format!("busy for {}, in part while the device computes", seconds_text(self.communication))
        } else {
            "no communication".to_owned()
        };
        let _ = writeln!(out, "  links     {links}");
        let limit = match (self.limit, self.fits) {
            (0, _) => String::new(),
            (limit, true) => format!(" of {}", bytes_text(limit)),
            (limit, false) => {
                format!(
                    " of {}: it does not fit; use more devices, or a smaller program or batch",
                    bytes_text(limit)
                )
            }
        };
        let _ = writeln!(out, "  memory    up to {}{limit}", bytes_text(self.memory));
        self.write_arguments(&mut out);
        self.write_choices(&mut out);
        self.write_tried(&mut out);
        out
    }

    /// The report as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The strategy, after the annotations that it keeps. If nothing is left to annotate, it may still rewrite the program. Without FSDP, tensor
    /// parallelism may still shard weights, so `no_shard` would be misleading.
    fn strategy_text(&self, words: &str) -> String {
        let text = words.replacen("no_shard", "no FSDP", 1);
        match words.strip_prefix("no_shard") {
            _ if words == AS_ANNOTATED || !self.kept.is_any() => text,
            _ if self.kept.is_all() => format!("{AS_ANNOTATED}, rewritten by --fsdp {words}"),
            Some("") => format!("{AS_ANNOTATED}, others without FSDP"),
            Some(more) => format!("{AS_ANNOTATED}, others without FSDP,{more}"),
            None => format!("{AS_ANNOTATED}, others {text}"),
        }
    }

    /// The number of given shardings, which are outside of the search.
    fn write_kept(&self, out: &mut String) {
        let KeptReport { arguments, all_arguments, results, all_results, is_within, is_annotated } =
            self.kept;
        let count = |given: usize, all: usize, noun: &str| {
            (given > 0).then(|| format!("{given} of {all} {noun}{}", if all == 1 { "" } else { "s" }))
        };
        let within = is_within.then(|| "values within the program".to_owned());
        let counts =
            [count(arguments, all_arguments, "argument"), count(results, all_results, "result"), within];
        let given: Vec<String> = counts.into_iter().flatten().collect();
        if given.is_empty() {
            return;
        }
        let _ = writeln!(out, "  kept      given shardings of {}", given.join(", "));
        if is_annotated {
            out.push_str("            --ignore-shardings searches those of the program too; `shardc plan` tries changes of single ones\n");
        }
    }

    fn write_arguments(&self, out: &mut String) {
        out.push_str("\nshardings of arguments and results, largest first\n");
        for row in self.arguments.iter().take(ROWS) {
            let first = row.arguments.first().map(String::as_str).unwrap_or_default();
            let more = if row.arguments.len() > 1 { " and others" } else { "" };
            let fixed = if row.is_fixed {
                ", given"
            } else if self.placed.contains(row) && self.strategy == AS_ANNOTATED {
                ", added"
            } else if self.placed.contains(row) {
                ", instead of that of the strategy"
            } else {
                ""
            };
            let shape: Vec<String> = row.shape.iter().map(i64::to_string).collect();
            let count = if row.count > 1 { format!("{} x ", row.count) } else { String::new() };
            let spec = match row.spec.as_str() {
                OPEN => "open, as propagation decides".to_owned(),
                spec => format!("as {spec}"),
            };
            let _ = writeln!(out, "  {first}{more}: {count}{} {} {spec}{fixed}", row.role, shape.join("x"),);
        }
        if self.arguments.len() > ROWS {
            let _ = writeln!(out, "  ... and {} more", self.arguments.len() - ROWS);
        }
    }

    /// The effect of an alternative: `1.2 ms slower, 3.0 GiB more memory`.
    fn difference(&self, other: &ScoreReport) -> String {
        let seconds = other.seconds - self.seconds;
        let time = match seconds_text(seconds.abs()) {
            text if seconds.abs() < LEAST * self.seconds || text == seconds_text(0.0) => "as fast".to_owned(),
            text if seconds < 0.0 => format!("{text} faster"),
            text => format!("{text} slower"),
        };
        let seconds = other.communication - self.communication;
        let links = match seconds_text(seconds.abs()) {
            _ if seconds.abs() < LEAST * self.seconds => String::new(),
            text if seconds < 0.0 => format!(", {text} less communication"),
            text => format!(", {text} more communication"),
        };
        let bytes = bytes_text(other.memory.abs_diff(self.memory));
        let memory = match other.memory.cmp(&self.memory) {
            std::cmp::Ordering::Less => format!("{bytes} less memory"),
            std::cmp::Ordering::Equal => "the same memory".to_owned(),
            std::cmp::Ordering::Greater => format!("{bytes} more memory"),
        };
        let fits = if other.fits { "" } else { ", does not fit" };
        format!("{time}{links}, {memory}{fits}")
    }

    fn write_choices(&self, out: &mut String) {
        if self.choices.is_empty() {
            return;
        }
        out.push_str("\nchoices, and what the next best would cost\n");
        for row in self.choices.iter().take(ROWS) {
            let difference = self.difference(&row.score);
            let text = |choice: &str| {
                if row.what == "strategy" { self.strategy_text(choice) } else { choice.to_owned() }
            };
            let (chosen, next_best) = (text(&row.chosen), text(&row.next_best));
            let _ = writeln!(out, "  {}: {chosen}\n     {next_best}: {difference}", row.what);
        }
        if self.choices.len() > ROWS {
            let _ = writeln!(out, "  ... and {} more", self.choices.len() - ROWS);
        }
    }

    fn write_tried(&self, out: &mut String) {
        let exhaustive = match (self.is_exhaustive, self.kept.arguments + self.kept.results) {
            (false, _) => "",
            (true, 0) => ", among them all shardings of arguments and results along whole axes of this mesh",
            (true, _) => {
                ", among them all shardings of the arguments and results that are not given, along whole axes of this mesh"
            }
        };
        let _ = writeln!(out, "\nchosen (*) and best of {} candidates{exhaustive}", self.evaluated);
        for row in &self.tried {
            let mut placed: String =
                row.placed.iter().take(PLACED).map(|group| format!(", {group}")).collect();
            if row.placed.len() > PLACED {
                let _ = write!(placed, " and {} more", row.placed.len() - PLACED);
            }
            let uses = match row.uses.as_slice() {
                [] => String::new(),
                uses => format!(" ({})", uses.join(", ")),
            };
            let order = if row.batch_first { "" } else { ", without priority of the batch" };
            let mark = if row.is_chosen { '*' } else { ' ' };
            let fits = if row.score.fits { "" } else { ", does not fit" };
            let _ = writeln!(
                out,
                "{mark} {:>9}  {:>10}  {}{uses} {}{order}{placed}{fits}",
                seconds_text(row.score.seconds),
                bytes_text(row.score.memory),
                row.mesh,
                self.strategy_text(&row.strategy)
            );
        }
        let is_faster =
            |row: &&TriedReport| row.score.fits && row.score.seconds < (1.0 - LEAST) * self.seconds;
        if self.fits && self.tried.iter().any(|row| is_faster(&row)) {
            let (significant, accuracy) = (100.0 * SIGNIFICANT, 100.0 * ACCURACY);
            let _ = writeln!(
                out,
                "a faster candidate is not chosen if it gains less than {significant} % for each additional axis, setting or sharding, or \
                 if it gains less than {accuracy} % and keeps devices and links busy for longer"
            );
        }
    }
}
