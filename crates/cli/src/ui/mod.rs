//! The user interface: results on standard output; errors, warnings and progress on standard error.
//!
//! With `--format json`, the result is one document on standard output, and each error, warning or note is one object on a line
//! of standard error.

pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod table;
mod terminal;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::{Diagnostic, RenderOptions, Selection};

use crate::args::{Color, Format, GlobalArgs};
use crate::failure::Failure;
use crate::output::{Named, write_stdout};
use crate::source::Source;
use crate::words;
use progress::Progress;
use table::Table;
use terminal::{Stream, Terminal};

/// The form of the output, and the two output streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    format: Format,
    quiet: bool,
    out: Terminal,
    err: Terminal,
}

impl Ui {
    pub(crate) fn new(args: &GlobalArgs) -> Ui {
        Ui {
            format: args.format,
            quiet: args.quiet,
            out: Terminal::of(Stream::Out, args.color),
            err: Terminal::of(Stream::Err, args.color),
        }
    }

    /// Determines the form of the output from a command line that could not be parsed.
    pub(crate) fn guess(args: &[OsString]) -> Ui {
        let value = |option: &str| {
            let mut rest = args.iter().filter_map(|arg| arg.to_str());
            while let Some(arg) = rest.next() {
                match arg.strip_prefix(option) {
                    Some("") => return rest.next(),
                    Some(value) if value.starts_with('=') => return value.get(1..),
                    _ => {}
                }
            }
            None
        };
        let color = match value("--color") {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            _ => Color::Auto,
        };
        let format = if value("--format") == Some("json") { Format::Json } else { Format::Text };
        Ui::new(&GlobalArgs { format, color, quiet: false })
    }

    /// Switches to JSON if `wanted`, for commands with their own `--json`.
    pub(crate) fn json_if(self, wanted: bool) -> Ui {
        Ui { format: if wanted { Format::Json } else { self.format }, ..self }
    }

    /// Suppresses all output except errors unless `wanted`: in a job, only one process prints other output.
    pub(crate) fn quiet_unless(self, wanted: bool) -> Ui {
        Ui { quiet: self.quiet || !wanted, ..self }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// The width of standard output, if known.
    pub(crate) fn width(&self) -> Option<usize> {
        self.out.width
    }

    /// Prints the result of a command, as text or JSON.
    pub(crate) fn result(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) -> Result<()> {
        if self.is_json() { self.print(format_args!("{:#}\n", json())) } else { self.print(text()) }
    }

    /// Writes to standard output.
    pub(crate) fn print(&self, text: impl Display) -> Result<()> {
        write_stdout(text.to_string().as_bytes())
    }

    /// Text whose lines fit the width of standard output: longer ones continue on indented lines.
    pub(crate) fn fitted(&self, text: String) -> String {
        match self.out.width {
            Some(width) => table::fitted(&text, width),
            None => text,
        }
    }

    /// A table that fits the width of standard output.
    pub(crate) fn table(&self, table: &Table) -> String {
        table.to_text(self.out.width)
    }

    /// A table that fits the width of standard error.
    pub(crate) fn summary_table(&self, table: &Table) -> String {
        table.to_text(self.err.width)
    }

    /// Prints a summary on standard error.
    pub(crate) fn summary(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) {
        if self.quiet {
            return;
        }
        if self.is_json() {
            let mut object = json();
            object["type"] = json!("summary");
            complain(&format!("{object}\n"));
        } else {
            complain(&text());
        }
    }

    /// Prints a note on standard error; `data` are the further keys of its JSON object.
    pub(crate) fn note(&self, message: &str, data: &[(&str, Value)]) {
        if self.quiet {
            return;
        }
        if self.is_json() {
            let mut note = json!({ "type": "note", "message": message });
            for (key, value) in data {
                note[*key] = value.clone();
            }
            complain(&format!("{note}\n"));
        } else {
            complain(&format!("note: {message}\n"));
        }
    }

    /// Prints on standard error which files a command wrote. Standard output is not mentioned.
    pub(crate) fn wrote(&self, files: &[Named<'_>]) {
        if self.quiet || self.is_json() {
            return;
        }
        for (_, path) in files.iter().filter(|(_, path)| *path != Path::new("-")) {
            complain(&format!("wrote {}\n", path.display()));
        }
    }

    /// Prints warnings about a program on standard error, unless `--quiet` is given.
    pub(crate) fn warn(&self, source: &Source, diagnostics: &[Diagnostic]) {
        if !self.quiet && !diagnostics.is_empty() {
            self.diagnostics(diagnostics, &source.name, &source.text());
        }
    }

    /// Prints the warnings above the threshold, and the number of the other warnings.
    pub(crate) fn warn_selected(&self, source: &Source, selection: &Selection) {
        if self.quiet {
            return;
        }
        if self.is_json() {
            let text = source.text();
            for group in &selection.groups {
                let mut object = json::line(&group.warning, &source.name, &text);
                object["times"] = json!(group.times);
                complain(&format!("{object}\n"));
            }
        } else {
            self.warn(source, &selection.diagnostics());
        }
        let Some(rest) = selection.rest() else { return };
        let message = format!("{rest}; --warn-bytes 0 shows them");
        if self.is_json() {
            let left_out = json!({ "count": selection.left_out, "bytes": selection.left_out_bytes });
            self.note(&message, &[("left_out", left_out), ("warn_bytes", json!(selection.least))]);
        } else {
            let gap = if selection.groups.is_empty() { "" } else { "\n" };
            complain(&format!("{gap}note: {message}\n"));
        }
    }

    /// Renders diagnostics for standard output.
    pub(crate) fn rendered(&self, diagnostics: &[Diagnostic], source: &Source) -> String {
        words::render(diagnostics, &source.name, &source.text(), self.out.style())
    }

    /// Prints the error of a command.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        match error.downcast_ref::<Failure>() {
            Some(Failure::Refused { diagnostics, name, text, .. }) => {
                self.diagnostics(diagnostics, name, text)
            }
            Some(Failure::Runtime { code, message, notes, hint }) => {
                self.plain_error(Some(code), message, notes, hint.as_deref());
            }
            Some(Failure::Usage { message, hint }) => self.plain_error(None, message, &[], hint.as_deref()),
            None => self.plain_error(None, &format!("{error:#}"), &[], None),
        }
    }

    /// Prints an error of the command line, or the help text that it requests. Returns the exit code.
    pub(crate) fn command_line(&self, error: &clap::Error) -> u8 {
        let text = |terminal: &Terminal| {
            let text = error.render();
            if terminal.color { text.ansi().to_string() } else { text.to_string() }
        };
        if !error.use_stderr() {
            return match self.print(text(&self.out)) {
                Ok(()) => 0,
                Err(error) => {
                    self.error(&error);
                    1
                }
            };
        }
        if self.is_json() {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            let (message, hint) = text.split_once("\n\n").unwrap_or((text, ""));
            complain(&format!("{}\n", json::error(None, message.trim(), &[], Some(hint.trim()))));
        } else {
            complain(&text(&self.err));
        }
        2
    }

    /// Starts the timer of a long command, with a spinner on a terminal.
    pub(crate) fn progress(&self) -> Progress {
        Progress::start(self.shows_progress())
    }

    pub(crate) fn shows_progress(&self) -> bool {
        self.err.is_terminal && !self.quiet && !self.is_json()
    }

    fn diagnostics(&self, diagnostics: &[Diagnostic], name: &str, text: &str) {
        if self.is_json() {
            for diagnostic in diagnostics {
                complain(&format!("{}\n", json::line(diagnostic, name, text)));
            }
        } else {
            complain(&words::render(diagnostics, name, text, self.err.style()));
        }
    }

    fn plain_error(&self, code: Option<&str>, message: &str, notes: &[String], hint: Option<&str>) {
        if self.is_json() {
            complain(&format!("{}\n", json::error(code, message, notes, hint)));
            return;
        }
        let (red, blue, bold, end) = match self.err.color {
            true => ("\x1b[1m\x1b[91m", "\x1b[1m\x1b[94m", "\x1b[1m", "\x1b[0m"),
            false => ("", "", "", ""),
        };
        let code = code.map(|code| format!("[{code}]")).unwrap_or_default();
        let mut text = format!("{red}error{code}{end}{bold}: {}{end}\n", message.trim_end());
        for note in notes {
            text.push_str(&format!("  {blue}={end} {bold}note{end}: {note}\n"));
        }
        if let Some(hint) = hint {
            text.push_str(&format!("  {blue}={end} {bold}help{end}: {hint}\n"));
        }
        complain(&text);
    }
}

impl Terminal {
    fn style(&self) -> RenderOptions {
        let options = RenderOptions { color: self.color, ..RenderOptions::default() };
        self.width.map_or(options, |width| RenderOptions { width, ..options })
    }
}

/// Writes to standard error. Failures are ignored, since they cannot be reported anywhere.
pub(crate) fn complain(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
