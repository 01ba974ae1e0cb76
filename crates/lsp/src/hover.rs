//! Hover texts: a value with its sharding and the origins of its axes, an operation with the collectives that it needs, a function, a mesh.

use std::fmt::Write as _;
use std::ops::Range;

use shardc::explain::{AxisOrigin, CollectiveReport, SourcePlace, ValueLayout, ValueReport, bytes_text};
use shardc::ir::{Module, OpId, ValueId};
use shardc::stablehlo::SymbolKind;

use crate::analysis::{Partitioned, Program, bytes};
use crate::text::Text;

/// The number of steps of a propagation path that are shown at each end.
const STEPS: usize = 3;

/// The maximum number of items of a list.
const ITEMS: usize = 8;

/// The maximum number of characters of a signature.
const SIGNATURE: usize = 1000;

/// The program of a hover: the parsed program and, if the analysis came that far, the partitioned program.
pub(crate) struct Hovered<'a> {
    pub(crate) text: &'a Text,
    pub(crate) program: &'a Program,
    pub(crate) partitioned: Option<&'a Partitioned>,
    /// Whether the analysis goes on.
    pub(crate) is_running: bool,
}

impl Hovered<'_> {
    /// The text, as Markdown, for the name at an offset, and the position of the name.
    pub(crate) fn at(&self, offset: usize) -> Option<(String, Range<usize>)> {
        let index = &self.program.index;
        if let Some(used) = index.use_at(offset) {
            let value = index.definitions().get(used.definition)?.value(used.result);
            let span = bytes(used.span);
            return Some((self.value(value, span.clone(), None), span));
        }
        if let Some(definition) = index.definition_at(offset).and_then(|at| index.definitions().get(at)) {
            let span = bytes(definition.span);
            let values = (0..definition.count.max(1)).take(ITEMS).map(|i| {
                let number = (definition.count > 1).then_some(i);
                self.value(definition.value(i), span.clone(), number)
            });
            let mut text = values.collect::<Vec<_>>().join("\n\n---\n\n");
            if let Some(op) = definition.first.and_then(|value| self.def_op(value)) {
                self.add_collectives(&mut text, op);
            }
            return Some((text, span));
        }
        if let Some((kind, name, span)) = index.symbol_at(offset)
            && let Some(module) = &self.program.module
        {
            let text = match kind {
                SymbolKind::Function => function(module, name),
                SymbolKind::Mesh => mesh(module, name),
            };
            return text.map(|text| (text, bytes(span)));
        }
        let (span, op) = self.program.op_at(offset)?;
        Some((self.operation(op)?, span))
    }

    /// A value, which the text at `name` defines or uses. `number` is its index among the values of a definition.
    fn value(&self, value: Option<ValueId>, name: Range<usize>, number: Option<u32>) -> String {
        let number = number.map(|number| format!("#{number}")).unwrap_or_default();
        let name = format!("{}{number}", self.text.slice(name));
        let (Some(value), Some(module)) = (value, &self.program.module) else {
            return format!("`{name}`\n\nThe program has errors.");
        };
        let ty = module.values.get(value).map(|value| module.types.display(value.ty)).unwrap_or_default();
        let mut out = format!("```mlir\n{name}: {ty}\n```\n");
        let Some(partitioned) = self.partitioned else {
            out.push_str(self.why_not());
            return out;
        };
        let session = &partitioned.session;
        let layouts = session.layouts(value);
        match layouts.as_slice() {
            [] => out.push_str("\nThis value has no sharding.\n"),
            [layout] => add_layout(&mut out, layout),
            [first, rest @ ..] => {
                add_layout(&mut out, first);
                let specs: Vec<String> = rest.iter().take(ITEMS).map(|l| format!("`{}`", l.spec)).collect();
                let _ = writeln!(out, "\nIn other calls of the function: {}", specs.join(", "));
            }
        }
        if let Some(report) = session.explain_value(value) {
            add_origins(&mut out, &report);
        }
        out
    }

    /// Why there are no shardings.
    fn why_not(&self) -> &'static str {
        match self.is_running {
            true => "\nThe program is being partitioned.\n",
            false => "\nThe program has errors, so it has no shardings.\n",
        }
    }

    /// An operation: its results, and the collectives that it needs.
    fn operation(&self, op: OpId) -> Option<String> {
        let module = self.program.module.as_ref()?;
        let data = module.ops.get(op)?;
        let mut out = format!("`{}`\n", data.kind.name());
        match self.partitioned {
            Some(partitioned) => {
                for (i, &result) in data.results.iter().enumerate().take(ITEMS) {
                    if let Some(layout) = partitioned.session.layout(result) {
                        let _ = writeln!(
                            out,
                            "\nresult {i}: `{}`, sharded `{}`, local `{}`",
                            layout.global_type, layout.spec, layout.local_type
                        );
                    }
                }
            }
            None => out.push_str(self.why_not()),
        }
        self.add_collectives(&mut out, op);
        Some(out)
    }

    fn add_collectives(&self, out: &mut String, op: OpId) {
        let (Some(module), Some(partitioned)) = (&self.program.module, self.partitioned) else { return };
        let Some(data) = module.ops.get(op).filter(|data| data.span.is_some()) else { return };
        let needed: Vec<&CollectiveReport> = partitioned.needed_at(bytes(data.span).start).collect();
        if needed.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n**Collectives for `{}`**\n", data.kind.name());
        for collective in needed.iter().take(ITEMS) {
            add_collective(out, collective, self.line_of(bytes(data.span).start));
        }
        if needed.len() > ITEMS {
            let _ = writeln!(out, "* ... and {} more", needed.len() - ITEMS);
        }
    }

    /// The operation that produces a value.
    fn def_op(&self, value: ValueId) -> Option<OpId> {
        let module = self.program.module.as_ref().filter(|module| module.values.is_valid(value))?;
        module.def_op(value)
    }

    /// The line of an offset, from 1.
    fn line_of(&self, offset: usize) -> usize {
        self.text.position(offset).line as usize + 1
    }
}

fn add_layout(out: &mut String, layout: &ValueLayout) {
    let bytes = layout.bytes.map(|bytes| format!(", {} on each device", bytes_text(bytes)));
    let _ = writeln!(out, "\nlocal: `{}`{}", layout.local_type, bytes.unwrap_or_default());
    let spec = if layout.spec.is_empty() { String::new() } else { format!(" (`{}`)", layout.spec) };
    let _ = writeln!(out, "\nsharding: `{}`{spec}", layout.sharding);
}

fn add_origins(out: &mut String, report: &ValueReport) {
    if let Some(label) = &report.label {
        let _ = writeln!(out, "\nname in the front end: `{label}`");
    }
    if !report.axes.is_empty() {
        out.push_str("\n**Origin of each axis**\n\n");
    }
    for axis in &report.axes {
        let _ = writeln!(out, "* `{}`, {}: from {}", axis.axis, axis.place, axis.origin);
        add_path(out, axis);
    }
    for note in report.trimmed.iter().take(ITEMS) {
        let _ = writeln!(out, "\n{note}");
    }
    if !report.conflicts.is_empty() {
        out.push_str("\n**Conflicts**\n\n");
    }
    for conflict in report.conflicts.iter().take(ITEMS) {
        let _ = writeln!(
            out,
            "* {}{}: {} has `{}`, but {} does not: {}",
            conflict.op,
            at(&conflict.place),
            conflict.has,
            conflict.axis,
            conflict.lacks,
            conflict.reason
        );
    }
}

/// The steps of a propagation path after the annotation, without those in the middle of a long path.
fn add_path(out: &mut String, axis: &AxisOrigin) {
    let steps = axis.steps.get(1..).unwrap_or_default();
    for (i, step) in steps.iter().enumerate() {
        let is_shown = steps.len() <= 2 * STEPS + 1 || i < STEPS || i >= steps.len() - STEPS;
        if is_shown {
            let _ = writeln!(out, "  * {}{}, to {} {}", step.how, at(&step.place), step.value, step.at);
        } else if i == STEPS {
            let _ = writeln!(out, "  * ... {} more steps", steps.len() - 2 * STEPS);
        }
    }
}

/// One collective, with its cost and the reasons for it. `line` is the line of the operation.
fn add_collective(out: &mut String, collective: &CollectiveReport, line: usize) {
    let axes: Vec<String> = collective.axes.iter().map(|axis| format!("`{axis}`")).collect();
    let along = if axes.is_empty() { String::new() } else { format!(" along {}", axes.join(", ")) };
    let runs = match collective.runs {
        1 => String::new(),
        runs => format!(", {runs} times: {}", bytes_text(collective.bytes_in_run())),
    };
    let _ = writeln!(
        out,
        "* {}{along} of `{}`: a device sends {}{runs}",
        collective.kind,
        collective.ty,
        bytes_text(collective.bytes)
    );
    let own = collective.serves.iter().filter(|serves| serves.place.line == Some(line));
    for reason in own.flat_map(|serves| &serves.because).take(ITEMS) {
        let _ = writeln!(out, "  * because {reason}");
    }
    if collective.serves.len() > 1 {
        let _ = writeln!(out, "  * combined with those of {} more operations", collective.serves.len() - 1);
    }
}

/// The line of a place: ` at line 12`.
fn at(place: &SourcePlace) -> String {
    place.line.map(|line| format!(" at line {line}")).unwrap_or_default()
}

fn function(module: &Module, name: &str) -> Option<String> {
    let func = &module.funcs[*module.func_names.get(name)?];
    let types = |types: &[_]| {
        let types: Vec<String> = types.iter().map(|&ty| module.types.display(ty)).collect();
        types.join(", ")
    };
    let signature = format!("@{name}({}) -> ({})", types(&func.params), types(&func.results));
    let shown: String = signature.chars().take(SIGNATURE).collect();
    let more = if shown.len() < signature.len() { " ..." } else { "" };
    let ops = func.body.map_or(0, |body| module.walk(body).len());
    let (params, results) = (func.params.len(), func.results.len());
    Some(format!("```mlir\n{shown}{more}\n```\n\n{params} arguments, {results} results, {ops} operations\n"))
}

fn mesh(module: &Module, name: &str) -> Option<String> {
    let mesh = &module.meshes[*module.mesh_names.get(name)?];
    let axes: Vec<String> = mesh.axes.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
    Some(format!("```mlir\n@{name} = <[{}]>\n```\n\n{} devices\n", axes.join(", "), mesh.num_devices()))
}
