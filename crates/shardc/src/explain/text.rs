//! A report for a terminal.

use std::fmt::Write as _;

use super::collectives::times;
use super::conflicts::conflict_text;
use super::fold::groups;
use super::report::{
    AxisOrigin, CollectiveReport, ConflictReport, RemedyReport, Report, SourcePlace, StepReport,
    TotalsReport, ValueReport,
};
use crate::seconds_text::seconds_text;

/// The maximum number of rows of a list in a summary, unless all rows are requested.
const ROWS: usize = 10;

/// The numbers of steps shown at the start and at the end of a propagation path, unless all steps are requested.
const STEPS: (usize, usize) = (3, 5);

impl Report {
    /// The report as text. With `all`, long lists and propagation paths are not truncated.
    #[must_use]
    pub fn to_text(&self, all: bool) -> String {
        self.to_text_within(all, usize::MAX)
    }

    /// [`Report::to_text`] in lines of at most `width` columns: text is wrapped, lines of the program are truncated.
    #[must_use]
    pub fn to_text_within(&self, all: bool, width: usize) -> String {
        let width = width.max(NARROWEST);
        let mut text = Text { out: String::new(), source: &self.source, all, width };
        for value in &self.values {
            text.value(value);
        }
        if let Some(totals) = self.totals {
            if !self.axes.is_empty() {
                text.summary(self);
            }
            text.collectives(&self.collectives, totals);
        } else if self.values.is_empty() && self.axes.is_empty() {
            for collective in &self.collectives {
                text.one_collective(collective);
            }
        } else if self.values.is_empty() {
            text.summary(self);
        }
        for note in &self.notes {
            let _ = writeln!(text.out, "note: {note}");
        }
        text.out
    }
}

/// The minimum width to which lines are wrapped.
const NARROWEST: usize = 40;

struct Text<'a> {
    out: String,
    source: &'a str,
    all: bool,
    /// The maximum number of columns of a line.
    width: usize,
}

impl Text<'_> {
    fn line(&mut self, text: &str) {
        self.wrapped(text, text.len() - text.trim_start().len() + 2);
    }

    /// Writes text, wrapped onto further lines that begin at column `indent`.
    fn wrapped(&mut self, text: &str, indent: usize) {
        let indent = " ".repeat(indent.min(self.width / 2));
        let mut rest = text.trim_end().to_owned();
        while let Some((end, _)) = rest.char_indices().nth(self.width) {
            // Lines break only at a space after the indentation, never within a name.
            let begin = rest.len() - rest.trim_start().len();
            let inside = |at: usize| at > begin;
            let next = || rest[end..].find(' ').map(|at| end + at);
            let Some(cut) = rest[..=end].rfind(' ').filter(|&at| inside(at)).or_else(next) else { break };
            self.out.push_str(rest[..cut].trim_end());
            self.out.push('\n');
            rest = format!("{indent}{}", rest[cut..].trim_start());
        }
        self.out.push_str(&rest);
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.line(text);
    }

    /// A source position as text: `file:12, called at line 30, at model.py:40:8`.
    fn place(&self, place: &SourcePlace) -> String {
        let file = place.line.map(|line| format!("{}:{line}", self.source));
        let details = Some(place.details()).filter(|text| !text.is_empty());
        file.into_iter().chain(details).collect::<Vec<_>>().join(", ")
    }

    /// The number of rows of a list to show, and the line that reports how many are omitted.
    fn rows(&self, len: usize) -> (usize, Option<String>) {
        if self.all || len <= ROWS {
            (len, None)
        } else {
            (ROWS, Some(format!("  ... and {} more (--all shows them)", len - ROWS)))
        }
    }

    fn value(&mut self, value: &ValueReport) {
        let label = value.label.as_ref().map(|l| format!(" ({l})")).unwrap_or_default();
        self.heading(&format!("{}{label}: {}, sharded {}", value.name, value.ty, value.sharding));
        let place = self.place(&value.place);
        if !place.is_empty() {
            let op = value.op.as_ref().map(|op| format!(", produced by {op}")).unwrap_or_default();
            self.line(&format!("  --> {place}{op}"));
        }
        if value.axes.is_empty() {
            self.line("  No axis shards this value.");
        }
        for axis in &value.axes {
            self.axis(axis);
        }
        for trimmed in &value.trimmed {
            self.line(&format!("  note: {trimmed}"));
        }
        if !value.conflicts.is_empty() {
            self.line("");
            self.line("  Conflicts:");
            self.conflicts(&value.conflicts);
        }
    }

    fn axis(&mut self, axis: &AxisOrigin) {
        self.line("");
        let what = match axis.place.as_str() {
            "unreduced" => format!("  it is unreduced along \"{}\"", axis.axis),
            place => format!("  {place} is sharded along \"{}\"", axis.axis),
        };
        self.line(&format!("{what}, from {}", axis.origin));
        let number = |step: &StepReport| step.place.line.map_or(0, |line| line.to_string().len());
        let width = axis.steps.iter().map(number).max().unwrap_or(0).max(1);
        let (head, tail) = STEPS;
        let cut = !self.all && axis.steps.len() > head + tail + 1;
        for (i, step) in axis.steps.iter().enumerate() {
            if cut && i >= head && i < axis.steps.len() - tail {
                if i == head {
                    let left = axis.steps.len() - head - tail;
                    self.line(&format!("  {:width$} :  ... {left} more steps (--all shows them)", ""));
                }
                continue;
            }
            self.step(step, width);
        }
    }

    fn step(&mut self, step: &StepReport, width: usize) {
        let details = Some(step.place.details()).filter(|text| !text.is_empty());
        let details = details.map(|text| format!("   ({text})")).unwrap_or_default();
        let says = format!("{} {}, {}{details}", step.value, step.at, step.how);
        match (&step.place.line, &step.place.text, step.place.mark) {
            (Some(line), Some(text), Some((from, len))) => {
                let room = self.width.saturating_sub(width + 5).max(NARROWEST / 2);
                // The line is truncated at the left if the underlined range would otherwise not be shown.
                let start = if from + len > room { from.saturating_sub(room / 4) } else { 0 };
                let text: String = text.chars().skip(start).take(room).collect();
                let from = from - start;
                let carets = "^".repeat(len.min(room.saturating_sub(from)).max(1));
                self.out.push_str(format!("  {line:>width$} | {text}").trim_end());
                self.out.push('\n');
                self.wrapped(&format!("  {:width$} | {:from$}{carets} {says}", "", ""), width + 7);
            }
            _ => self.line(&format!("  {:width$} -> {says}", "")),
        }
    }

    fn conflicts(&mut self, conflicts: &[ConflictReport]) {
        let (shown, rest) = self.rows(conflicts.len());
        for conflict in &conflicts[..shown] {
            let times = match conflict.count {
                0 | 1 => String::new(),
                count => format!(" ({count} times)"),
            };
            let place = self.place(&conflict.place);
            let sent = conflict.sent.map(bytes).unwrap_or_default();
            self.line(&format!("  {sent:>10}  {}{times}  {place}", conflict.op));
            self.line(&format!("              {}", conflict_text(conflict)));
        }
        if let Some(rest) = rest {
            self.line(&rest);
        }
    }

    fn summary(&mut self, report: &Report) {
        self.heading(&format!("{} on {}: shardings and their origins", report.source, report.target));
        for axis in &report.axes {
            self.line("");
            let what = match (axis.values, axis.size) {
                (_, 1) => "has one device and shards nothing".to_owned(),
                (0, _) => "shards nothing".to_owned(),
                (values, _) => format!("shards {values} values"),
            };
            self.line(&format!("axis \"{}\" ({} devices) {what}", axis.name, axis.size));
            let (shown, rest) = self.rows(axis.annotations.len());
            for annotation in &axis.annotations[..shown] {
                let line =
                    annotation.place.line.map(|l| format!("   {}:{l}", report.source)).unwrap_or_default();
                self.line(&format!("  {:>6} from {}{line}", annotation.values, annotation.annotation));
            }
            rest.into_iter().for_each(|rest| self.line(&rest));
        }
        if !report.conflicts.is_empty() {
            self.heading("Conflicts, with the bytes that a device sends because of them:");
            self.conflicts(&report.conflicts);
        }
        if !report.replicated.is_empty() {
            self.heading("Large replicated values:");
            let (shown, rest) = self.rows(report.replicated.len());
            for value in &report.replicated[..shown] {
                let each = match value.count {
                    1 => String::new(),
                    count => format!(" ({count} x {})", bytes(value.bytes)),
                };
                let place = self.place(&value.place);
                let what = format!("{}: {}, {}{each}", value.name, value.ty, value.op);
                let all = value.bytes.saturating_mul(value.count as u64);
                self.line(&format!("  {:>10}  {what}  {place}", bytes(all)));
            }
            rest.into_iter().for_each(|rest| self.line(&rest));
        }
    }

    fn collectives(&mut self, collectives: &[CollectiveReport], totals: TotalsReport) {
        let shown = TotalsReport::of(collectives);
        if totals.collectives == 0 {
            return;
        }
        let heading = if shown == totals {
            let plural = if totals.collectives == 1 { "" } else { "s" };
            format!(
                "{} collective{plural}, most bytes first; each device sends {} in one execution:",
                totals.collectives,
                bytes(totals.bytes)
            )
        } else {
            format!(
                "{} of {} collectives are selected; in one execution each device sends {} of {} for them:",
                shown.collectives,
                totals.collectives,
                bytes(shown.bytes),
                bytes(totals.bytes)
            )
        };
        self.heading(&heading);
        let order = groups(collectives);
        let (shown, rest) = self.rows(order.len());
        for group in &order[..shown] {
            let Some((first, others)) = group.members.split_first() else { continue };
            let folded = Folded { others, runs: group.runs, bytes: group.bytes };
            self.collective(first, folded, 1);
        }
        rest.into_iter().for_each(|rest| self.line(&rest));
    }

    /// Writes a collective with the first operation that needs it, and at most `others_shown` further operations unless all are requested.
    fn collective(&mut self, collective: &CollectiveReport, folded: Folded<'_>, others_shown: usize) {
        let in_loop = if collective.in_loop { ", in a loop" } else { "" };
        let axes = if collective.axes.is_empty() {
            String::new()
        } else {
            format!(" along {}", collective.axes.join(", "))
        };
        let function = match &collective.function {
            Some(function) => format!(", in @{}, called {}", function.name, times(function.runs)),
            None => String::new(),
        };
        let runs = if folded.runs > 1 { format!(" x{}", folded.runs) } else { String::new() };
        let class = collective.class.map(|class| format!(", {class}")).unwrap_or_default();
        let head = format!(
            "  {:>10}  #{}{runs} {} of {}{axes}{class}{in_loop}{function}",
            bytes(folded.bytes),
            collective.number,
            collective.kind,
            collective.ty,
        );
        let [first, others @ ..] = collective.serves.as_slice() else {
            self.line(&format!("{head}, for an operation without a source location"));
            self.after_collective(collective, folded);
            return;
        };
        let place = self.place(&first.place);
        self.line(&format!("{head}, for {}  {place}", first.op));
        first.because.iter().for_each(|because| self.line(&format!("              {because}")));
        let shown = if self.all { others.len() } else { others.len().min(others_shown) };
        for other in &others[..shown] {
            let place = self.place(&other.place);
            self.line(&format!("              and for {}  {place}", other.op));
            other.because.iter().for_each(|because| self.line(&format!("                {because}")));
        }
        if shown < others.len() {
            self.line(&format!(
                "              and for {} more, combined into one collective",
                others.len() - shown
            ));
        }
        self.after_collective(collective, folded);
    }

    /// Writes the numbers of equal collectives, and the remedy.
    fn after_collective(&mut self, collective: &CollectiveReport, folded: Folded<'_>) {
        let (first, rest) = folded.others.split_at(folded.others.len().min(NUMBERS));
        let mut numbers: Vec<String> = first.iter().map(|other| format!("#{}", other.number)).collect();
        if !rest.is_empty() {
            numbers.push(format!("{} more", rest.len()));
        }
        if !numbers.is_empty() {
            self.line(&format!("              equal: {}", numbers.join(", ")));
        }
        if let Some(remedy) = &collective.remedy {
            self.line(&format!("              remedy: {}", remedy_text(remedy)));
        } else if let Some(reason) = &collective.no_remedy {
            self.line(&format!("              no remedy: {reason}"));
        }
    }

    fn one_collective(&mut self, collective: &CollectiveReport) {
        self.heading(&format!("collective {}", collective.number));
        let folded = Folded { others: &[], runs: collective.runs, bytes: collective.bytes_in_run() };
        self.collective(collective, folded, ROWS);
        for side in &collective.sides {
            self.value(side);
        }
    }
}

/// The equal collectives that are shown as one.
#[derive(Clone, Copy)]
struct Folded<'a> {
    /// All but the first.
    others: &'a [&'a CollectiveReport],
    /// The number of executions in one execution of the program.
    runs: u64,
    /// The bytes that one device sends in one execution of the program.
    bytes: u64,
}

/// The maximum number of equal collectives whose numbers are shown, and of annotations of a remedy.
const NUMBERS: usize = 6;

fn remedy_text(remedy: &RemedyReport) -> String {
    let memory = match remedy.memory {
        0 => "needs the same memory".to_owned(),
        more if more > 0 => format!("needs {} more memory", bytes(more.unsigned_abs())),
        less => format!("needs {} less memory", bytes(less.unsigned_abs())),
    };
    let time = match remedy.seconds.map(|seconds| (seconds > 0.0, seconds_text(seconds.abs()))) {
        None => String::new(),
        Some((_, zero)) if zero == seconds_text(0.0) => ", takes the same time".to_owned(),
        Some((true, more)) => format!(", takes {more} more"),
        Some((false, less)) => format!(", takes {less} less"),
    };
    let operations = match format!("{:.2}", remedy.operations).as_str() {
        "1.00" => String::new(),
        factor => format!(", and computes {factor} times the products"),
    };
    let mut specs: Vec<String> =
        remedy.specs.iter().take(NUMBERS).map(|spec| format!("--spec {spec}")).collect();
    if remedy.specs.len() > NUMBERS {
        specs.push(format!("and {} more", remedy.specs.len() - NUMBERS));
    }
    format!(
        "{} ({}): a device sends {} less, {memory}{time}{operations}",
        remedy.what,
        specs.join(" "),
        bytes(remedy.sent.unsigned_abs()),
    )
}

/// Bytes in a readable unit: `1.5 MiB`.
pub(super) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{n} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}
