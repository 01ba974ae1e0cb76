//! What the user sees: results on the standard output; errors, warnings and progress on the standard error.
//!
//! With `--format json` both are for machines. The result is one document, and each error, warning or note is one
//! object on a line of its own.

pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod table;
mod terminal;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::{Diagnostic, RenderOptions, Selection};

use crate::args::{Color, Format, GlobalArgs};
use crate::failure::Failure;
use crate::output::write_stdout;
use crate::source::Source;
use crate::words;
use progress::Progress;
use table::Table;
use terminal::{Stream, Terminal};

/// How this command speaks.
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

    /// Guesses from a command line that could not be read.
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

    /// Writes JSON if `wanted`: for commands with a `--json` of their own.
    pub(crate) fn json_if(self, wanted: bool) -> Ui {
        Ui { format: if wanted { Format::Json } else { self.format }, ..self }
    }

    /// Shows errors alone unless `wanted`: of several processes one speaks.
    pub(crate) fn quiet_unless(self, wanted: bool) -> Ui {
        Ui { quiet: self.quiet || !wanted, ..self }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Columns of the standard output, where they are known.
    pub(crate) fn width(&self) -> Option<usize> {
        self.out.width
    }

    /// Shows the result of a command, in the form that is asked for.
    pub(crate) fn result(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) -> Result<()> {
        if self.is_json() { self.print(format_args!("{:#}\n", json())) } else { self.print(text()) }
    }

    /// Writes to the standard output.
    pub(crate) fn print(&self, text: impl Display) -> Result<()> {
        write_stdout(text.to_string().as_bytes())
    }

    /// The table as wide as the standard output at most.
    pub(crate) fn table(&self, table: &Table) -> String {
        table.to_text(self.out.width)
    }

    /// The table as wide as the standard error at most.
    pub(crate) fn summary_table(&self, table: &Table) -> String {
        table.to_text(self.err.width)
    }

    /// Tells what was done, on the standard error.
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

    /// Shows diagnostics of a program on the standard error. Warnings are left out where nobody wants them.
    pub(crate) fn warn(&self, source: &Source, diagnostics: &[Diagnostic]) {
        if !self.quiet && !diagnostics.is_empty() {
            self.diagnostics(diagnostics, &source.name, &source.text());
        }
    }

    /// Shows the warnings that are worth reading, and how many there are besides.
    pub(crate) fn warn_selected(&self, source: &Source, selection: &Selection) {
        if self.quiet {
            return;
        }
        if self.is_json() {
            let text = source.text();
            for told in &selection.told {
                let mut object = json::line(&told.warning, &source.name, &text);
                object["times"] = json!(told.times);
                complain(&format!("{object}\n"));
            }
        } else {
            self.warn(source, &selection.diagnostics());
        }
        let Some(rest) = selection.rest() else { return };
        let message = format!("{rest}; --warn-bytes 0 shows them");
        if self.is_json() {
            let left_out = json!({ "count": selection.left_out, "bytes": selection.left_out_bytes });
            let note = json!({ "type": "note", "message": message, "left_out": left_out, "warn_bytes": selection.least });
            complain(&format!("{note}\n"));
        } else {
            let gap = if selection.told.is_empty() { "" } else { "\n" };
            complain(&format!("{gap}note: {message}\n"));
        }
    }

    /// Diagnostics as text for the standard output.
    pub(crate) fn rendered(&self, diagnostics: &[Diagnostic], source: &Source) -> String {
        words::render(diagnostics, &source.name, &source.text(), self.out.style())
    }

    /// Shows why a command failed.
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

    /// Shows what is wrong with a command line, or the help that it asks for; returns the exit code.
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

    /// The clock of a long command; a spinner where there is someone to look at it.
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

/// Writes to the standard error. Where that is closed or full, there is nobody left to be told.
pub(crate) fn complain(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
