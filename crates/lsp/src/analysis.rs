//! The analysis of one text, in three stages, so that the first results are early: the program is parsed, then partitioned, then linted.
//!
//! Lines of `// -----` separate several programs, as in the tests of MLIR. Each is analyzed alone, in a copy of the text in which the other
//! programs are blank, so that all positions are those of the whole text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use shardc::explain::{CollectiveReport, ExplainOptions, Question, Session};
use shardc::ir::{Module, OpId, Severity, Span};
use shardc::lint::LintOptions;
use shardc::stablehlo::{SourceIndex, parse_indexed, split};
use shardc::{Compiler, Diagnostic, Error};

use crate::text::Text;

/// The error code of a program without a mesh.
const NO_MESH: &str = "SH0303";

/// The error code of a program in another dialect, or without functions.
const NOT_STABLEHLO: &str = "SH0301";

/// The maximum number of programs in a text. A text with more of them is one program.
const MOST_PROGRAMS: usize = 100;

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) text: Arc<Text>,
    /// The programs in the order of the text; at least one.
    programs: Vec<Program>,
}

/// A parsed program.
#[derive(Debug)]
pub(crate) struct Program {
    /// The position of the program in the text.
    range: Range<usize>,
    pub(crate) index: SourceIndex,
    /// `None` if the program has errors.
    pub(crate) module: Option<Module>,
    /// The errors of the parser.
    pub(crate) errors: Vec<Diagnostic>,
    /// The operations in the order of the text, each with the position of its name.
    ops: Vec<(Range<usize>, OpId)>,
}

/// A partitioned program.
#[derive(Debug)]
pub(crate) struct Partitioned {
    pub(crate) session: Session,
    pub(crate) collectives: Vec<CollectiveReport>,
    /// The indices of the collectives that an operation needs, by the offset of the name of the operation.
    needed: HashMap<usize, Vec<usize>>,
}

/// The result of a stage.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// The text is parsed.
    Parsed(Arc<Parsed>),
    /// Each program is partitioned, or has errors, in which case it is `None`.
    Partitioned(Vec<Option<Arc<Partitioned>>>, Vec<Diagnostic>),
    /// The programs are linted, and the analysis is complete.
    Linted(Vec<Diagnostic>),
}

/// A span as a range of bytes.
pub(crate) fn bytes(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// Analyzes a text, and calls `publish` after each stage. The cancel token of the compiler ends the analysis early.
pub(crate) fn analyze(compiler: &Compiler, name: &str, text: Arc<Text>, publish: &mut dyn FnMut(Stage)) {
    let parsed = Arc::new(Parsed::new(text));
    publish(Stage::Parsed(Arc::clone(&parsed)));
    if !parsed.is_valid() {
        return;
    }
    let (mut partitioned, mut found) = (Vec::new(), Vec::new());
    for program in &parsed.programs {
        let Some(session) = program.session(compiler, name, &parsed.text, &mut found) else { return };
        partitioned.push(session.map(|session| Arc::new(Partitioned::new(session, &parsed.text))));
    }
    let is_partitioned = |program: &Option<Arc<Partitioned>>| {
        program.as_ref().is_some_and(|p| p.session.partitioned().is_ok())
    };
    let to_lint: Vec<bool> = partitioned.iter().map(is_partitioned).collect();
    publish(Stage::Partitioned(partitioned, found));
    let mut found = Vec::new();
    for (program, _) in parsed.programs.iter().zip(to_lint).filter(|(_, is_partitioned)| *is_partitioned) {
        let Some(module) = &program.module else { continue };
        match compiler.lint(module.clone(), &LintOptions::default()) {
            Ok(report) => found.extend(report.findings.into_iter().map(|finding| finding.diagnostic)),
            Err(error) if error.interruption().is_some() => return,
            // Partitioning reported the error already.
            Err(_) => {}
        }
    }
    publish(Stage::Linted(found));
}

/// The errors to report. A program without a mesh is valid: it was not annotated yet. A program in another dialect is not invalid.
fn reported(error: &Error) -> Vec<Diagnostic> {
    let mut errors = error.diagnostics().into_owned();
    errors.retain(|error| error.code != NO_MESH);
    for error in errors.iter_mut().filter(|error| error.code == NOT_STABLEHLO) {
        error.severity = Severity::Warning;
    }
    errors
}

impl Parsed {
    fn new(text: Arc<Text>) -> Parsed {
        let mut ranges = split(text.as_str());
        if ranges.len() > MOST_PROGRAMS {
            ranges = std::iter::once(0..text.as_str().len()).collect();
        }
        let programs = ranges.into_iter().map(|range| Program::new(&text, range)).collect();
        Parsed { text, programs }
    }

    /// Whether the parser accepts a program of the text.
    pub(crate) fn is_valid(&self) -> bool {
        self.programs.iter().any(|program| program.module.is_some())
    }

    /// The programs, each with its number.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (usize, &Program)> {
        self.programs.iter().enumerate()
    }

    /// The program that contains an offset, with its number.
    pub(crate) fn program_at(&self, offset: usize) -> Option<(usize, &Program)> {
        let at = self.programs.partition_point(|program| program.range.start <= offset).checked_sub(1)?;
        self.programs.get(at).map(|program| (at, program))
    }
}

impl Program {
    fn new(text: &Text, range: Range<usize>) -> Program {
        let (module, index) = parse_indexed(&source(text, &range));
        let (module, errors) = match module {
            Ok(module) => (Some(module), Vec::new()),
            Err(errors) => (None, errors),
        };
        let mut ops: Vec<(Range<usize>, OpId)> = module.as_ref().map(named_ops).unwrap_or_default();
        ops.sort_by_key(|(range, _)| range.start);
        Program { range, index, module, errors, ops }
    }

    /// The operation whose name contains an offset, with the position of the name.
    pub(crate) fn op_at(&self, offset: usize) -> Option<(Range<usize>, OpId)> {
        let after = self.ops.partition_point(|(range, _)| range.start <= offset);
        let (range, op) = self.ops.get(after.checked_sub(1)?)?;
        (offset <= range.end).then(|| (range.clone(), *op))
    }

    /// Partitions the program, and adds its errors and warnings to `found`. Returns `Some(None)` for an invalid program, and `None` if the
    /// analysis was cancelled.
    fn session(
        &self,
        compiler: &Compiler,
        name: &str,
        text: &Text,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Option<Session>> {
        let Some(module) = &self.module else { return Some(None) };
        if module.funcs.is_empty() && module.kept.is_empty() {
            // Nothing is written yet.
            return Some(None);
        }
        let session = match compiler.session(module.clone(), name, &*source(text, &self.range)) {
            Ok(session) => session,
            Err(error) if error.interruption().is_some() => return None,
            Err(error) => {
                found.extend(reported(&error));
                return Some(None);
            }
        };
        match session.partitioned() {
            Ok(output) => found.extend(output.warnings_to_print().diagnostics()),
            Err(error) if error.interruption().is_some() => return None,
            Err(error) => found.extend(reported(error)),
        }
        Some(Some(session))
    }
}

/// The text, in which everything outside of a range is blank, except for line ends.
fn source<'a>(text: &'a Text, range: &Range<usize>) -> Cow<'a, str> {
    let all = text.as_str();
    if *range == (0..all.len()) {
        return Cow::Borrowed(all);
    }
    let blank = |range: Range<usize>| -> String {
        text.slice(range).bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
    };
    Cow::Owned(blank(0..range.start) + text.slice(range.clone()) + &blank(range.end..all.len()))
}

/// The operations with a position in the text.
fn named_ops(module: &Module) -> Vec<(Range<usize>, OpId)> {
    let ops = module.bodies().flat_map(|body| module.walk(body));
    ops.filter(|&op| module.ops[op].span.is_some()).map(|op| (bytes(module.ops[op].span), op)).collect()
}

impl Partitioned {
    fn new(session: Session, text: &Text) -> Partitioned {
        let report = session.answer(&Question::Collectives, &ExplainOptions::default());
        let collectives = report.map(|report| report.collectives).unwrap_or_default();
        let mut needed: HashMap<usize, Vec<usize>> = HashMap::new();
        for (i, collective) in collectives.iter().enumerate() {
            for serves in &collective.serves {
                if let (Some(line), Some(column)) = (serves.place.line, serves.place.column)
                    && let Some(start) = text.line_start(line.saturating_sub(1))
                {
                    needed.entry(start + column.saturating_sub(1)).or_default().push(i);
                }
            }
        }
        Partitioned { session, collectives, needed }
    }

    /// The collectives that the operation whose name begins at an offset needs.
    pub(crate) fn needed_at(&self, offset: usize) -> impl Iterator<Item = &CollectiveReport> {
        let found = self.needed.get(&offset).map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(|&i| self.collectives.get(i))
    }
}
