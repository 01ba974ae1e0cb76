//! The reasons for each collective of the partitioned program.
//!
//! A collective has the source position of the operation that needs it. The propagated program contains that operation, and thus the
//! reason: the axes that shard its contracting dimensions, or the sharding conflicts between its operands and results.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexSet;
use shardc_ir::{
    AxisRef, EntityRef, Group, Mesh, Module, OpId, OpKind, ReductionKind, RegionId, ReplicaGroups, ValueId,
};
use shardc_passes::analysis::linear::is_linear_in;
use shardc_passes::cost::traffic::{self, Collective};
use shardc_passes::propagate::{AxisRole as At, Subject};
use shardc_passes::rules::rule_of;
use shardc_passes::rules::sharding_rule::FactorKind;

use super::Explainer;
use super::because::Needs;
use super::classes::{Classes, ProgramRoles};
use super::report::{CalledReport, CollectiveReport, ServedReport, ValueReport};
use crate::{Error, Output};

/// The limit on the operations that are visited to find the origin of partial sums.
const SUMS_LOOKED_AT: usize = 64;

/// A key that identifies an operation in both the propagated and the partitioned program.
pub(super) type Origin = (u32, usize);

/// Finds the operations of the propagated program that need a collective.
pub(super) struct Served<'a> {
    /// The operations of the propagated program by source position. For a function that is called several times, they are those of the
    /// first inlined copy. Operations without operands need no collective, but front ends give them the positions of their users.
    ops: BTreeMap<Origin, OpId>,
    /// The collectives that each combined collective replaced.
    combined: HashMap<OpId, &'a [OpId]>,
}

impl<'a> Served<'a> {
    pub(super) fn new(propagated: &Module, body: RegionId, output: &'a Output) -> Served<'a> {
        let mut ops = BTreeMap::new();
        let needs_operands = |op: &OpId| !propagated.ops[*op].operands.is_empty();
        for op in propagated.walk(body).into_iter().filter(needs_operands) {
            ops.entry(origin(propagated, op)).or_insert(op);
        }
        let combined = output.cleaned.combined.iter().map(|one| (one.op, one.members.as_slice())).collect();
        Served { ops, combined }
    }

    /// The operations that need a collective of the partitioned program, each once, in order.
    pub(super) fn by(&self, partitioned: &Module, collective: OpId) -> Vec<OpId> {
        let alone = [collective];
        let members = self.combined.get(&collective).copied().unwrap_or(&alone);
        let ops = members.iter().filter_map(|&member| self.ops.get(&origin(partitioned, member)).copied());
        ops.collect::<IndexSet<OpId>>().into_iter().collect()
    }
}

/// A collective, without its reasons.
fn collective(output: &Output, found: Collective, number: usize) -> CollectiveReport {
    let module = &output.module;
    let Collective { op, in_loop, runs, bytes, .. } = found;
    let data = &module.ops[op];
    let types: Vec<String> =
        data.operands.iter().map(|&v| module.types.display(module.values[v].ty)).collect();
    let ty = match types.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} and {} more", rest.len()),
        _ => types.concat(),
    };
    CollectiveReport {
        number,
        kind: data.collective_name().to_owned(),
        axes: axes_of_collective(output, op),
        ty,
        bytes,
        runs,
        in_loop,
        ..CollectiveReport::default()
    }
}

impl Explainer<'_> {
    /// All collectives of the partitioned program, and the operations that need them.
    pub(super) fn collectives(
        &self,
        output: &Output,
        roles: &ProgramRoles,
    ) -> (Vec<CollectiveReport>, Needs) {
        let served = Served::new(self.module, self.body, output);
        let (mut out, mut ops, mut needs): (Vec<CollectiveReport>, Vec<Vec<OpId>>, _) =
            (Vec::new(), Vec::new(), Needs::default());
        let classes = Classes::of(&output.module, roles);
        let runs = traffic::runs(&output.module);
        // Operations of called functions, by source position; the propagated program does not contain them.
        let mut called: Option<BTreeMap<Origin, OpId>> = None;
        for found in traffic::collectives(&output.module) {
            let Collective { op, func, .. } = found;
            let mut report = collective(output, found, out.len());
            report.class = classes.of_collective(op, func);
            if Some(func) != output.module.entry() {
                let name = output.module.funcs[func].name.to_string();
                report.function = Some(CalledReport { name, runs: runs[func] });
                let called = called.get_or_insert_with(|| {
                    let ops = self.raw.bodies().flat_map(|body| self.raw.walk(body));
                    let mut of_place = BTreeMap::new();
                    for op in ops.filter(|&op| self.raw.ops[op].span.is_some()) {
                        of_place.entry(origin(self.raw, op)).or_insert(op);
                    }
                    of_place
                });
                report.serves.extend(called.get(&origin(&output.module, op)).map(|&serves| ServedReport {
                    op: self.raw.ops[serves].kind.name().to_owned(),
                    place: self.names.span_place(self.raw.ops[serves].span),
                    because: Vec::new(),
                }));
                out.push(report);
                ops.push(Vec::new());
                continue;
            }
            let served = served.by(&output.module, op);
            needs.add(self, &report, &served);
            out.push(report);
            ops.push(served);
        }
        // A reason may have the bytes of several collectives, so all are known first.
        for (report, ops) in out.iter_mut().zip(ops) {
            let serves = ops.into_iter().map(|op| ServedReport {
                op: self.module.ops[op].kind.name().to_owned(),
                place: self.names.op_place(op),
                because: needs.because(self, report, op),
            });
            let serves: Vec<ServedReport> = serves.collect();
            report.serves.extend(serves);
        }
        (out, needs)
    }

    /// One collective, with the propagation paths of all axes of the operations that need it.
    pub(super) fn one_collective(
        &self,
        output: &Output,
        mut all: Vec<CollectiveReport>,
        number: usize,
    ) -> Result<Vec<CollectiveReport>, Error> {
        let ops = traffic::collectives(&output.module);
        let (true, Some(&Collective { op, .. })) = (number < all.len(), ops.get(number)) else {
            let message = format!("the partitioned program has no collective {number}");
            let hint = format!("there are {} collectives; their indices start at 0", all.len());
            return Err(shardc_ir::Diagnostic::invalid("SH0821", message).hint(hint).into());
        };
        let mut report = all.swap_remove(number);
        report.sides = self.sides(&Served::new(self.module, self.body, output).by(&output.module, op));
        Ok(vec![report])
    }

    /// Reports the operands and results of operations, each once.
    fn sides(&self, ops: &[OpId]) -> Vec<ValueReport> {
        let values = ops.iter().flat_map(|&op| {
            let data = &self.module.ops[op];
            data.operands.iter().chain(&data.results).copied()
        });
        let is_reported = |v: &ValueId| self.module.shardings.of(*v).is_some() && self.module.rank(*v) > 0;
        let values: IndexSet<ValueId> = values.filter(is_reported).collect();
        values.into_iter().map(|v| self.value(Subject::Value(v), false)).collect()
    }

    /// Returns the reason why an operation needs communication although its tensors have no conflict and it reduces no sharded dimension.
    pub(super) fn other_reason(&self, op: OpId) -> String {
        let data = &self.module.ops[op];
        let text = |v| {
            let sharding = self.module.shardings.sharding_of(v);
            sharding.map_or_else(String::new, |s| s.display(&self.module.meshes[s.mesh]))
        };
        match (&data.kind, data.operands.as_slice(), data.results.as_slice()) {
            (OpKind::ShardingConstraint(_), &[operand], &[result]) => {
                format!(
                    "the constraint requires {} for a value with sharding {}",
                    text(result),
                    text(operand)
                )
            }
            (kind, operands, results) => {
                let shardings = |values: &[_]| {
                    let texts: Vec<String> = values.iter().map(|&v| text(v)).collect();
                    texts.join(", ")
                };
                let because = match self.completed(op) {
                    Some(sum) => sum,
                    None => "devices need elements of other shards".to_owned(),
                };
                let title = kind.title();
                format!("{title} of {} gives {}: {because}", shardings(operands), shardings(results))
            }
        }
    }

    /// Describes the unreduced operand that is reduced before an operation, and the reason; `None` if there is no such operand.
    fn completed(&self, op: OpId) -> Option<String> {
        let data = &self.module.ops[op];
        let unreduced = |&v: &ValueId| self.module.shardings.sharding_of(v).map(|s| s.unreduced.as_slice());
        let stays =
            |axis: &AxisRef| data.results.iter().any(|v| unreduced(v).is_some_and(|a| a.contains(axis)));
        let is_completed = |v: &ValueId| unreduced(v).is_some_and(|axes| axes.iter().any(|a| !stays(a)));
        let i = data.operands.iter().position(is_completed)?;
        let (name, title) = (self.names.value(data.operands[i]), data.kind.title());
        let kind = self.module.shardings.sharding_of(data.operands[i])?.reduction;
        let why = match is_linear_in(self.module, op, i, kind) {
            false => format!("{title} is not linear in it, so the partial sums are reduced first"),
            true => format!("reducing it before {title} costs no more than reducing the result"),
        };
        Some(format!("{name} is unreduced; {why}"))
    }

    /// The axes that shard a reduction dimension of an operation, each with a description.
    pub(super) fn split_sums(&self, op: OpId) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for (operand, dim, axis) in self.reduced(op) {
            let Some(sharding) = self.module.shardings.sharding_of(operand) else { continue };
            let from = self.origin(Subject::Value(operand), At::Dim(dim), axis).unwrap_or_default();
            let axis = self.axis(sharding, axis);
            let text = format!(
                "it reduces dimension {dim} of {}, which is sharded along \"{axis}\" (from {from})",
                self.names.value(operand)
            );
            let sum = (axis, text);
            if !out.contains(&sum) {
                out.push(sum);
            }
        }
        out
    }

    /// The axes that shard a reduction dimension of an earlier operation whose partial sums reach `op` through linear operations, each with a
    /// description. Sums are delayed so that one collective reduces several of them.
    pub(super) fn sums_before(&self, op: OpId) -> Vec<(String, String)> {
        let (mut todo, mut seen, mut out) = (vec![op], IndexSet::from([op]), Vec::new());
        while let Some(at) = todo.pop().filter(|_| seen.len() < SUMS_LOOKED_AT) {
            for (i, &operand) in self.module.ops[at].operands.iter().enumerate() {
                // A reducing collective of `op` itself may serve an operation that is not linear.
                if at != op && !is_linear_in(self.module, at, i, ReductionKind::Add) {
                    continue;
                }
                let Some(def) = self.module.def_op(operand).filter(|&def| seen.insert(def)) else { continue };
                let sums = self.split_sums(def);
                if sums.is_empty() {
                    todo.push(def);
                }
                let title = self.module.ops[def].kind.title();
                let line = self.names.span_place(self.module.ops[def].span).line;
                let place = line.map(|line| format!(" at line {line}")).unwrap_or_default();
                out.extend(sums.into_iter().map(|(axis, text)| {
                    let text = text.trim_start_matches("it ").to_owned();
                    (axis, format!("it adds partial sums: {title}{place} {text}"))
                }));
            }
        }
        out
    }

    /// The axes that shard reduction dimensions of an operation, with the operand and its dimension.
    pub(super) fn reduced(&self, op: OpId) -> Vec<(ValueId, u32, AxisRef)> {
        let Some(rule) = rule_of(self.module, op) else { return Vec::new() };
        let data = &self.module.ops[op];
        let mut out = Vec::new();
        let factors = rule.factors.iter().enumerate();
        for (f, _) in factors.filter(|(_, factor)| factor.kind == FactorKind::Reduction) {
            for (&operand, mapping) in data.operands.iter().zip(&rule.operands) {
                let (Some((dim, _)), Some(sharding)) =
                    (mapping.find(f as u16), self.module.shardings.sharding_of(operand))
                else {
                    continue;
                };
                // A maximal sharding has no dimensions.
                let axes = sharding.dims.get(dim).map_or(&[][..], |d| &d.axes);
                out.extend(axes.iter().map(|&axis| (operand, dim as u32, axis)));
            }
        }
        out
    }
}

/// A count as text: `once`, `24 times`.
pub(super) fn times(runs: u64) -> String {
    match runs {
        1 => "once".to_owned(),
        u64::MAX => "2^64 times or more".to_owned(),
        runs => format!("{runs} times"),
    }
}

pub(super) fn origin(module: &Module, op: OpId) -> Origin {
    let data = &module.ops[op];
    match data.span.is_some() {
        true => (data.span.start, 0),
        false => (u32::MAX, data.loc.expand().map_or(0, |loc| loc.index() + 1)),
    }
}

/// The mesh axes along which the devices of a collective communicate.
pub(crate) fn axes_of_collective(output: &Output, op: OpId) -> Vec<String> {
    let data = &output.module.ops[op];
    let groups = data.collective_spec().map(|spec| spec.groups.clone()).unwrap_or_default();
    let pairs = matches!(data.kind, OpKind::CollectivePermute(_));
    axes_of(&output.interface.mesh, &groups, pairs)
}

/// The axes along which the devices of a group differ. Groups hold device ids, or positions in partition mode. The ids
/// and the positions of two devices differ along the same axes.
pub(crate) fn axes_of(mesh: &Mesh, groups: &ReplicaGroups, pairs: bool) -> Vec<String> {
    let positions: HashMap<i64, usize> = match &mesh.device_ids {
        Some(_) => (0..mesh.num_devices()).map(|p| (mesh.device_at(p), p)).collect(),
        None => HashMap::new(),
    };
    let position = |id: i64| match &mesh.device_ids {
        Some(_) => positions.get(&id).copied(),
        None => usize::try_from(id).ok().filter(|&p| p < mesh.num_devices()),
    };
    let looked_at = if pairs { groups.len() } else { 1 };
    let mut out = Vec::new();
    for (i, name) in mesh.axes.keys().enumerate() {
        let axis = shardc_ir::AxisRef::whole(i);
        let differs = |group: Group<'_>| {
            let mut places = group.iter().filter_map(position).map(|p| mesh.coordinate(p, axis));
            let first = places.next();
            places.any(|c| Some(c) != first)
        };
        if groups.iter().take(looked_at).any(differs) {
            out.push(name.to_string());
        }
    }
    out
}
