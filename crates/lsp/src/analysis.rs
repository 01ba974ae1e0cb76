//! The analysis of one text, in three stages, so that the first results are early: the program is parsed, then partitioned, then linted.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use shardc::explain::{CollectiveReport, ExplainOptions, Question, Session};
use shardc::ir::{Module, OpId, Span};
use shardc::lint::LintOptions;
use shardc::stablehlo::{SourceIndex, parse_indexed};
use shardc::{Compiler, Diagnostic, Error};

use crate::text::Text;

/// The error code of a program without a mesh.
const NO_MESH: &str = "SH0303";

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) text: Arc<Text>,
    pub(crate) index: SourceIndex,
    /// The program; `None` if the text has errors.
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
    /// The program is partitioned, or has errors, in which case there is no program.
    Partitioned(Option<Arc<Partitioned>>, Vec<Diagnostic>),
    /// The program is linted, and the analysis is complete.
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
    let Some(module) = &parsed.module else { return };
    let session = match compiler.session(module.clone(), name, parsed.text.as_str()) {
        Ok(session) => session,
        Err(error) => {
            if error.interruption().is_none() {
                publish(Stage::Partitioned(None, reported(&error)));
            }
            return;
        }
    };
    let found = match session.partitioned() {
        Ok(output) => output.warnings_to_print().diagnostics(),
        Err(error) if error.interruption().is_some() => return,
        Err(error) => reported(error),
    };
    let is_partitioned = session.partitioned().is_ok();
    let partitioned = Partitioned::new(session, &parsed.text);
    publish(Stage::Partitioned(Some(Arc::new(partitioned)), found));
    if is_partitioned && let Ok(report) = compiler.lint(module.clone(), &LintOptions::default()) {
        publish(Stage::Linted(report.findings.into_iter().map(|finding| finding.diagnostic).collect()));
    }
}

/// The errors to report. A program without a mesh is valid: it was not annotated yet.
fn reported(error: &Error) -> Vec<Diagnostic> {
    let mut errors = error.diagnostics().into_owned();
    errors.retain(|error| error.code != NO_MESH);
    errors
}

impl Parsed {
    fn new(text: Arc<Text>) -> Parsed {
        let (module, index) = parse_indexed(text.as_str());
        let (module, errors) = match module {
            Ok(module) => (Some(module), Vec::new()),
            Err(errors) => (None, errors),
        };
        let mut ops: Vec<(Range<usize>, OpId)> = module.as_ref().map(named_ops).unwrap_or_default();
        ops.sort_by_key(|(range, _)| range.start);
        Parsed { text, index, module, errors, ops }
    }

    /// The operation whose name contains an offset, with the position of the name.
    pub(crate) fn op_at(&self, offset: usize) -> Option<(Range<usize>, OpId)> {
        let after = self.ops.partition_point(|(range, _)| range.start <= offset);
        let (range, op) = self.ops.get(after.checked_sub(1)?)?;
        (offset <= range.end).then(|| (range.clone(), *op))
    }
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
                    && let Some(start) = text.line_start(line - 1)
                {
                    needed.entry(start + column - 1).or_default().push(i);
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
