//! Files, the standard streams, and diagnostics on the terminal.

use std::borrow::Cow;
use std::fs;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use shardc::{CleanOptions, Compiler, Diagnostic, Error, Module, Output, Stage};

use crate::args::{AnnotationArgs, HowArgs, InputArgs, Mode};
use crate::progress::Progress;

/// A program, as text or bytecode, and what to call it in messages.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    pub(crate) fn read(path: &Path) -> Result<Source> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("cannot read the standard input")?;
            return Ok(Source { name: "<stdin>".to_owned(), bytes });
        }
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Source { name: path.display().to_string(), bytes })
    }

    /// The text that diagnostics point into; empty where the program is not text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        if shardc::is_bytecode(&self.bytes) {
            Cow::Borrowed("")
        } else {
            String::from_utf8_lossy(&self.bytes)
        }
    }

    /// The error as text, each diagnostic under its line.
    pub(crate) fn explain(&self, error: &Error) -> anyhow::Error {
        let text = error.render(&self.name, &self.text(), color());
        if about_options(error) { usage(text) } else { anyhow!(text) }
    }

    /// Shows warnings on the standard error.
    pub(crate) fn warn(&self, warnings: &[Diagnostic]) {
        if !warnings.is_empty() {
            eprintln!("{}", shardc::render(warnings, &self.name, &self.text(), color()));
        }
    }
}

/// A mistake in the command line, as opposed to one in the program: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A [`Usage`] error.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}

/// Whether an error is about what --mesh and --spec say.
fn about_options(error: &Error) -> bool {
    const CODES: &[&str] =
        &["SH0306", "SH0307", "SH0331", "SH0333", "SH0334", "SH0335", "SH0336", "SH0337", "SH0338", "SH0339"];
    matches!(error, Error::Diagnostics(list) if list.iter().all(|d| CODES.contains(&d.code)))
}

fn color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes to a file or, for `-`, to the standard output.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return write_stdout(bytes);
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes to the standard output. A reader that has seen enough, as `head` has, is no error.
pub(crate) fn print(text: impl std::fmt::Display) -> Result<()> {
    write_stdout(text.to_string().as_bytes())
}

fn write_stdout(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write the standard output"),
    }
}

/// The compiler that the options describe.
pub(crate) fn compiler(annotations: &AnnotationArgs, how: Option<&HowArgs>) -> Result<Compiler> {
    let shown = |e: Error| usage(e.render("<command line>", "", color()));
    let mut compiler = Compiler::new();
    if let Some(mesh) = &annotations.mesh {
        compiler = compiler.mesh(mesh).map_err(shown)?;
    }
    for spec in &annotations.spec {
        let (target, spec) = spec
            .rsplit_once('=')
            .ok_or_else(|| usage(format!("--spec {spec}: expected ARG=SPEC, as in arg0=data,-")))?;
        compiler = compiler.spec(target, spec).map_err(shown)?;
    }
    if let Some(how) = how {
        let clean = CleanOptions {
            combine_bytes: how.combine_bytes,
            keep_bytes: how.keep_bytes,
            memory_bytes: how.memory,
        };
        compiler = compiler.spmd_mode(how.spmd_mode.into()).strict(how.strict).clean(clean);
    }
    Ok(compiler)
}

impl From<Mode> for shardc::SpmdMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Replica => shardc::SpmdMode::Replica,
            Mode::Partition => shardc::SpmdMode::Partition,
        }
    }
}

/// What partitioning a file gives: the text, the program as it was read, the result, and the clock.
pub(crate) struct Job {
    pub(crate) source: Source,
    pub(crate) original: Module,
    pub(crate) output: Output,
    pub(crate) progress: Progress,
}

/// Reads and partitions the input; warnings are shown.
pub(crate) fn partition(input: &InputArgs, how: &HowArgs) -> Result<Job> {
    let compiler = compiler(&input.annotations, Some(how))?;
    let source = Source::read(&input.input)?;
    let mut progress = Progress::start();
    progress.stage(Stage::Read.as_str());
    let original = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    let output = compiler
        .partition_module(original.clone(), &mut |stage| progress.stage(stage.as_str()))
        .map_err(|e| source.explain(&e))?;
    progress.pause();
    source.warn(&output.warnings);
    Ok(Job { source, original, output, progress })
}
