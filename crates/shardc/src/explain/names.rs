//! Names of values, and source positions, in the file of the program.
//!
//! A module does not store the names of values. For a program in text form, the names are read from the text: the span of an operation
//! covers its name, and the names of its results precede the span on the line. For bytecode, the names are those in the printed propagated
//! program.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use shardc_ir::{
    FuncId, LocId, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, Span, ValueDef, ValueId,
};
use shardc_passes::propagate::Subject;
use shardc_passes::transforms::inline::CallSites;

use super::report::SourcePlace;

/// The maximum length of a source line in the report.
const WIDTH: usize = 100;

/// Names and source positions. See the module documentation.
pub(super) struct Names<'a> {
    module: &'a Module,
    func: FuncId,
    source: &'a str,
    sites: &'a CallSites,
    /// The offset at which each line begins.
    lines: Vec<usize>,
    /// The names in the printed propagated program, if the program is not in text form.
    printed: Option<SecondaryMap<ValueId, String>>,
    /// The parent operation of each region.
    owners: SecondaryMap<RegionId, PackedOption<OpId>>,
    /// A cache of the positions at which the arguments of each region are declared.
    declared: RefCell<HashMap<RegionId, Rc<[Range<usize>]>>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(module: &'a Module, func: FuncId, source: &'a str, sites: &'a CallSites) -> Self {
        let mut owners = SecondaryMap::new();
        for op in module.funcs[func].body.into_iter().flat_map(|body| module.walk(body)) {
            for &region in &module.ops[op].regions {
                owners[region] = op.into();
            }
        }
        let starts = source.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(at, _)| at + 1);
        Names {
            module,
            func,
            source,
            sites,
            lines: std::iter::once(0).chain(starts).collect(),
            printed: source.is_empty().then(|| shardc_stablehlo::value_names(module)),
            owners,
            declared: RefCell::default(),
        }
    }

    /// The name of a value or a result of the function.
    pub(super) fn subject(&self, subject: Subject) -> String {
        match subject {
            Subject::Value(value) => self.value(value),
            Subject::Result(i) => format!("result {i}"),
        }
    }

    /// The name of a value, as written in the file: `%5`, `%7#1`, `%arg0`.
    pub(super) fn value(&self, value: ValueId) -> String {
        if let Some(printed) = &self.printed {
            return printed[value].clone();
        }
        let found = match self.module.values[value].def() {
            ValueDef::Result(op, i) => self.result_name(op, i),
            ValueDef::Arg(region, i) => self.arg_name(region, i),
        };
        found.unwrap_or_else(|| match self.module.values[value].def() {
            ValueDef::Result(op, _) => format!("a {}", self.module.ops[op].kind.title()),
            ValueDef::Arg(_, i) => format!("argument {i}"),
        })
    }

    fn result_name(&self, op: OpId, i: u32) -> Option<String> {
        let data = &self.module.ops[op];
        let span = data.span;
        // A constraint that was created for an annotated operand or result of a call has the span of the call.
        let spelled = self.source.get(span.start as usize..span.end as usize)?;
        let is_constraint = matches!(data.kind, OpKind::ShardingConstraint(_));
        if is_constraint && !spelled.contains("sharding_constraint") && !spelled.contains("custom_call") {
            return None;
        }
        let start = self.lines[self.line_index(span)?];
        let before = self.source.get(start..span.start as usize)?.trim().strip_suffix('=')?;
        let mut left = i;
        for item in before.split(',') {
            let item = item.trim();
            let (name, count) = match item.split_once(':') {
                Some((name, count)) => (name, count.trim().parse::<u32>().ok()?),
                None => (item, 1),
            };
            if left < count {
                return Some(if count > 1 { format!("{name}#{left}") } else { name.to_owned() });
            }
            left -= count;
        }
        None
    }

    fn arg_name(&self, region: RegionId, i: u32) -> Option<String> {
        self.source.get(self.declared(region).get(i as usize)?.clone()).map(str::to_owned)
    }

    /// The positions at which the arguments of a region are declared: the first names after the operation or function that are followed
    /// by `:` (`=` in a while loop).
    fn declared(&self, region: RegionId) -> Rc<[Range<usize>]> {
        if let Some(known) = self.declared.borrow().get(&region) {
            return Rc::clone(known);
        }
        let (span, mark) = match self.owners[region].expand() {
            None => (self.module.funcs[self.func].span, ':'),
            Some(op) => {
                let data = &self.module.ops[op];
                (data.span, if matches!(data.kind, OpKind::While) { '=' } else { ':' })
            }
        };
        let found = self.names_behind(span, mark).take(self.module.regions[region].args.len()).collect();
        self.declared.borrow_mut().entry(region).or_insert(found).clone()
    }

    /// The names after the start of a span that are followed by `mark`.
    fn names_behind(&self, span: Span, mark: char) -> impl Iterator<Item = Range<usize>> + '_ {
        let start = span.start as usize;
        let text = if span.is_some() { self.source.get(start..).unwrap_or("") } else { "" };
        let name = move |(at, _): (usize, &str)| {
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.$-".contains(c)))?;
            rest[end..].trim_start().starts_with(mark).then_some(start + at..start + at + 1 + end)
        };
        text.match_indices('%').filter_map(name)
    }

    /// The index of the line that a span begins on.
    fn line_index(&self, span: Span) -> Option<usize> {
        if !span.is_some() || self.source.is_empty() {
            return None;
        }
        Some(self.lines.partition_point(|&start| start <= span.start as usize) - 1)
    }

    /// The line of an operation, from 1.
    pub(super) fn line_of(&self, op: OpId) -> Option<usize> {
        self.line_index(self.module.ops[op].span).map(|line| line + 1)
    }

    /// The source position of an operation, with the call sites that it was inlined from.
    pub(super) fn op_place(&self, op: OpId) -> SourcePlace {
        let data = &self.module.ops[op];
        let mut place = self.place(data.span, data.loc);
        let calls = self.sites.of(op);
        place.calls = calls.iter().filter_map(|&call| self.line_of(call)).collect();
        place
    }

    /// The source position of a span of the file.
    pub(super) fn span_place(&self, span: Span) -> SourcePlace {
        self.place(span, PackedOption::default())
    }

    /// The source position of a value: its producer, or the declaration of the argument.
    pub(super) fn subject_place(&self, subject: Subject) -> SourcePlace {
        let func = &self.module.funcs[self.func];
        match subject {
            Subject::Value(value) => match self.module.values[value].def() {
                ValueDef::Result(op, _) => self.op_place(op),
                ValueDef::Arg(region, i) => match self.owners[region].expand() {
                    Some(op) => self.op_place(op),
                    None => {
                        let loc = func.arg_locs.get(i as usize).copied().unwrap_or_default();
                        let declared = self.declared(region).get(i as usize).cloned();
                        self.place(declared.map_or(func.span, |at| Span::new(at.start, at.end)), loc)
                    }
                },
            },
            Subject::Result(_) => self.place(func.span, PackedOption::default()),
        }
    }

    fn place(&self, span: Span, loc: PackedOption<LocId>) -> SourcePlace {
        let mut place = SourcePlace::default();
        if let Some(line) = self.line_index(span) {
            let start = self.lines[line];
            let end = self.lines.get(line + 1).map_or(self.source.len(), |next| next - 1);
            place.line = Some(line + 1);
            place.column = Some(span.start as usize - start + 1);
            let text = self.source.get(start..end).unwrap_or("").trim_end();
            (place.text, place.mark) =
                excerpt(text, span.start as usize - start, (span.end - span.start) as usize);
        }
        if let Some(loc) = loc.expand() {
            place.user =
                self.module.locs.file_position(loc).map(|(file, line, col)| format!("{file}:{line}:{col}"));
            place.name = self.loc_name(loc);
        }
        place
    }

    /// The front end's name in a location.
    fn loc_name(&self, loc: LocId) -> Option<String> {
        match self.module.locs.get(loc) {
            shardc_ir::Loc::Name { name, .. } => Some(name.to_string()),
            _ => None,
        }
    }
}

/// Returns a line, truncated if it is long, and the range of the line to underline.
fn excerpt(line: &str, from: usize, len: usize) -> (Option<String>, Option<(usize, usize)>) {
    let indent = line.len() - line.trim_start().len();
    let start = if from.saturating_sub(indent) + len > WIDTH - 20 { from.saturating_sub(12) } else { indent };
    let start = (0..=start).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let shown: String = line.get(start..).unwrap_or("").chars().take(WIDTH).collect();
    let before = if start > indent { "... " } else { "" };
    let after = if line.len() > start + shown.len() { " ..." } else { "" };
    let skipped = line.get(start..from).map_or(0, |text| text.chars().count());
    (Some(format!("{before}{shown}{after}")), Some((before.len() + skipped, len.clamp(1, WIDTH))))
}
