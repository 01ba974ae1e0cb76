//! Propagation paths of axes, as text.

use shardc_ir::discardable::GSPMD_SHARDING;
use shardc_ir::{AttrDict, AxisRef, OpId, OpKind, TensorSharding, ValueDef};
use shardc_passes::propagate::{AnnotationSource, Arrival, AxisRole as At, Cause, Chain, Subject};

use super::report::{AxisOrigin, SourcePlace, StepReport, ValueReport};
use super::{Explainer, at_text};

impl Explainer<'_> {
    /// A value and the propagation path of each of its axes.
    pub(super) fn value(&self, subject: Subject, with_conflicts: bool) -> ValueReport {
        let mut report = self.value_without_axes(subject);
        let Some(sharding) = self.sharding(subject) else { return report };
        for (at, axis) in used_axes(sharding) {
            for chain in self.provenance.chains(subject, at, axis) {
                report.axes.push(AxisOrigin {
                    axis: self.axis(sharding, chain.axis),
                    place: at_text(at),
                    origin: chain.origin().map_or_else(String::new, |a| self.annotation(a)),
                    steps: self.steps(&chain),
                });
            }
        }
        if with_conflicts {
            let about = |c: &&shardc_passes::propagate::Conflict| c.has.0 == subject || c.lacks.0 == subject;
            let all = self.provenance.conflicts().iter().enumerate();
            report.conflicts = self.conflicts(all.filter(|(_, conflict)| about(conflict)), None);
        }
        report.trimmed = self.trimmed(subject);
        report
    }

    /// A value and the origin of each of its axes, without propagation paths.
    pub(super) fn value_origins(&self, subject: Subject) -> ValueReport {
        let mut report = self.value_without_axes(subject);
        let Some(sharding) = self.sharding(subject) else { return report };
        report.axes.extend(used_axes(sharding).map(|(at, axis)| AxisOrigin {
            axis: self.axis(sharding, axis),
            place: at_text(at),
            origin: self.origin(subject, at, axis).unwrap_or_default(),
            steps: Vec::new(),
        }));
        report
    }

    fn value_without_axes(&self, subject: Subject) -> ValueReport {
        let op = match subject {
            Subject::Value(value) => self.module.def_op(value),
            Subject::Result(_) => None,
        };
        let sharding = self.sharding(subject);
        ValueReport {
            name: self.names.subject(subject),
            label: self.label(subject),
            ty: self.type_of(subject),
            sharding: sharding.map_or_else(String::new, |s| s.display(&self.module.meshes[s.mesh])),
            op: op.map(|op| self.module.ops[op].kind.name().to_owned()),
            place: self.names.subject_place(subject),
            ..ValueReport::default()
        }
    }

    /// The dimensions of an argument or result from which propagated axes were removed, because sub-axes are not allowed there, or because
    /// the axes do not divide the dimension.
    fn trimmed(&self, subject: Subject) -> Vec<String> {
        let before =
            self.provenance.sharding_before_trimming(subject).map(|id| self.module.shardings.get(id));
        let (Some(before), Some(now)) = (before, self.sharding(subject)) else { return Vec::new() };
        let mesh = &self.module.meshes[before.mesh];
        let pairs = before.dims.iter().zip(&now.dims).enumerate();
        pairs
            .filter(|(_, (before, now))| before.axes != now.axes)
            .map(|(d, (before, now))| {
                let text = |axes: &[shardc_ir::AxisRef]| {
                    let names: Vec<String> = axes.iter().map(|&a| mesh.axis_text(a)).collect();
                    names.join(", ")
                };
                let kept = if now.axes.is_empty() { "no axis".to_owned() } else { text(&now.axes) };
                format!(
                    "dimension {d} could be sharded along {}, but is sharded along {kept}: arguments and results keep \
                     only full axes that divide the dimension",
                    text(&before.axes)
                )
            })
            .collect()
    }

    /// The steps of a chain, starting at the annotation.
    fn steps(&self, chain: &Chain) -> Vec<StepReport> {
        chain.links.iter().rev().map(|link| self.step(link)).collect()
    }

    fn step(&self, arrival: &Arrival) -> StepReport {
        let (how, place) = match arrival.cause {
            Cause::Annotation(annotation) => (
                format!("annotated: {}", self.annotation(annotation)),
                self.annotation_place(annotation, arrival.subject),
            ),
            Cause::Carried { op, tensors: (from, to), .. } => {
                let data = &self.module.ops[op];
                let operands = data.operands.len() as u32;
                let name = data.kind.title();
                let how = match (from < operands, to < operands) {
                    _ if self.is_flow(op) => self.flow(op, arrival.subject),
                    (true, false) => format!("through {name}"),
                    (false, true) => format!("back through {name}"),
                    (true, true) => format!("from operand {from} to operand {to} of {name}"),
                    (false, false) => format!("between results of {name}"),
                };
                (how, self.names.op_place(op))
            }
            Cause::Returned { from } => match (from, arrival.subject) {
                (Subject::Result(i), _) => {
                    (format!("required by result {i}"), self.names.subject_place(from))
                }
                _ => ("returned".to_owned(), self.return_place()),
            },
            Cause::Donated { from } => (
                format!("shares its memory with {}", self.names.subject(from)),
                self.names.subject_place(arrival.subject),
            ),
            Cause::Group { from } => (
                format!("in one sharding group with {}", self.names.subject(from)),
                self.names.subject_place(arrival.subject),
            ),
        };
        StepReport { value: self.names.subject(arrival.subject), at: at_text(arrival.place), how, place }
    }

    /// Whether an operation forwards values between its operands, its regions and its results.
    fn is_flow(&self, op: OpId) -> bool {
        matches!(
            self.module.ops[op].kind,
            OpKind::While
                | OpKind::Case
                | OpKind::If
                | OpKind::OptimizationBarrier
                | OpKind::ManualComputation(_)
        )
    }

    /// How an axis propagated to a value through an operation that forwards values.
    fn flow(&self, op: OpId, subject: Subject) -> String {
        let data = &self.module.ops[op];
        let def = match subject {
            Subject::Value(value) => Some(self.module.values[value].def()),
            Subject::Result(_) => None,
        };
        let way = match def {
            Some(ValueDef::Result(maker, _)) if maker == op => "through",
            Some(ValueDef::Arg(region, _)) if data.regions.contains(&region) => "into",
            _ => "back through",
        };
        format!("{way} {}", data.kind.title())
    }

    fn return_place(&self) -> SourcePlace {
        self.module.terminator(self.body).map_or_else(SourcePlace::default, |ret| self.names.op_place(ret))
    }

    /// An annotation as text.
    pub(super) fn annotation(&self, annotation: AnnotationSource) -> String {
        match annotation {
            AnnotationSource::Argument(i) => {
                let value = self.module.regions[self.body].args.get(i as usize);
                let name = value.map_or_else(String::new, |&v| format!(" {}", self.names.value(v)));
                let label = value.and_then(|&v| self.label(Subject::Value(v)));
                let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
                format!("argument {i}{name}{label}{}", self.how_given(false, i as usize))
            }
            AnnotationSource::Result(i) => {
                let label = self.label(Subject::Result(i)).map(|l| format!(" ({l})")).unwrap_or_default();
                format!("result {i}{label}{}", self.how_given(true, i as usize))
            }
            AnnotationSource::Constraint(op) => format!("sharding constraint{}", self.at_line(op)),
            AnnotationSource::ManualIn(op, i) => {
                format!("operand {i} of the manual computation{}", self.at_line(op))
            }
            AnnotationSource::ManualOut(op, i) => {
                format!("result {i} of the manual computation{}", self.at_line(op))
            }
            AnnotationSource::Operation(op, i) => {
                let name = self.module.ops[op].kind.title();
                format!("result {i} of {name}{}", self.at_line(op))
            }
        }
    }

    fn at_line(&self, op: OpId) -> String {
        let place = self.names.op_place(op);
        match (place.line, place.user.or(place.name)) {
            (Some(line), _) => format!(" at line {line}"),
            (None, Some(user)) => format!(" at {user}"),
            (None, None) => String::new(),
        }
    }

    pub(super) fn annotation_place(&self, annotation: AnnotationSource, subject: Subject) -> SourcePlace {
        match annotation {
            AnnotationSource::Argument(_) | AnnotationSource::Result(_) => self.names.subject_place(subject),
            AnnotationSource::Constraint(op)
            | AnnotationSource::ManualIn(op, _)
            | AnnotationSource::ManualOut(op, _)
            | AnnotationSource::Operation(op, _) => self.names.op_place(op),
        }
    }

    /// Describes the source of an argument's or result's annotation, if the source is not an `sdy.sharding` attribute of the program.
    fn how_given(&self, result: bool, i: usize) -> &'static str {
        let Some(func) = self.raw.entry().map(|f| &self.raw.funcs[f]) else { return "" };
        let has_gspmd = |attrs: Option<&AttrDict>| attrs.is_some_and(|a| a.get(GSPMD_SHARDING).is_some());
        let (own, gspmd) = if result {
            let own = func.res_shardings.get(i).is_some_and(|s| s.expand().is_some());
            (own, has_gspmd(func.res_attrs.get(i)))
        } else {
            let arg = func.body.and_then(|body| self.raw.regions[body].args.get(i));
            let own = arg.is_some_and(|&arg| self.raw.shardings.of(arg).is_some());
            (own, has_gspmd(func.arg_attrs.get(i)))
        };
        match (own, gspmd) {
            (true, _) => "",
            (false, true) => ", by mhlo.sharding",
            (false, false) => ", by an option",
        }
    }

    /// The front end's name of an argument or a result.
    pub(super) fn label(&self, subject: Subject) -> Option<String> {
        let func = &self.module.funcs[self.func];
        match subject {
            Subject::Value(value) => match self.module.values[value].def() {
                ValueDef::Arg(region, i) if region == self.body => {
                    func.argument_name(&self.module.locs, i as usize)
                }
                _ => None,
            },
            Subject::Result(i) => func.result_name(i as usize),
        }
    }

    /// Whether every device can produce the value at no cost.
    pub(super) fn is_free(&self, op: Option<OpId>) -> bool {
        op.is_some_and(|op| {
            matches!(
                self.module.ops[op].kind,
                OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::PartitionId | OpKind::ReplicaId
            )
        })
    }
}

/// The axes of a sharding that shard dimensions or along which the value is unreduced.
fn used_axes(sharding: &TensorSharding) -> impl Iterator<Item = (At, AxisRef)> + '_ {
    let dims = sharding.dims.iter().enumerate().map(|(d, dim)| (At::Dim(d as u32), &dim.axes));
    let all = dims.chain([(At::Unreduced, &sharding.unreduced)]);
    all.flat_map(|(at, axes)| axes.iter().map(move |&axis| (at, axis)))
}
