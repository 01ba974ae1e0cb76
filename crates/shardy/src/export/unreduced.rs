//! `sdy-verify-unreduced-axes`: checks that unreduced axes change only at operations that can reduce or create them.

use shardc_ir::{
    AxisList, Diagnostic, FuncId, MeshCollectiveKind, Module, OpId, OpKind, ReductionKind, RegionId,
    ShardingId, ValueId,
};
use shardc_passes::analysis::reducer::reduction_of;
use shardc_passes::internal::access::ShardingAccess;
use shardc_passes::internal::manual;
use shardc_passes::internal::sub_axes::minus;

use crate::shardings::through_barriers;

const CODE: &str = "SH0820";

/// Checks every function.
///
/// # Errors
/// For each function, the first operation that drops an unreduced axis without reducing it, or adds one that it cannot create.
pub(super) fn verify(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let places = ShardingAccess::new(module);
    let mut errors = Vec::new();
    for func in module.funcs.keys().collect::<Vec<_>>() {
        let Some(body) = module.funcs[func].body else { continue };
        let mut checker = Checker { module, places: &places, func, body };
        let ops = checker.module.walk_inner_first(body);
        errors.extend(ops.into_iter().find_map(|op| {
            let fault = checker.check(op).err()?;
            let op = &checker.module.ops[op];
            let name = if matches!(op.kind, OpKind::Return) { "return" } else { op.kind.name() };
            Some(Diagnostic::invalid(CODE, format!("{name}: {fault}")).at(op.span))
        }));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

struct Checker<'a> {
    module: &'a mut Module,
    places: &'a ShardingAccess,
    func: FuncId,
    body: RegionId,
}

type Checked = Result<(), String>;

impl Checker<'_> {
    fn check(&mut self, op: OpId) -> Checked {
        let data = self.module.ops[op].clone();
        let results = &data.results;
        let operands = |count: usize| -> Vec<ValueId> { data.operands.iter().take(count).copied().collect() };
        let all = data.operands.len();
        let sum = Some(ReductionKind::Add);
        match &data.kind {
            // Explicit reshards may change unreduced axes; the pass that lowers them reports invalid changes.
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => Ok(()),
            OpKind::Reduce { .. } => {
                let made = data.regions.first().and_then(|&r| reduction_of(self.module, r, results.len()));
                let known = |kind: &ReductionKind| {
                    matches!(kind, ReductionKind::Add | ReductionKind::Max | ReductionKind::Min)
                };
                self.change(&operands(results.len()), results, made.filter(known), None)
            }
            OpKind::MeshCollective(collective) => match &collective.kind {
                MeshCollectiveKind::AllReduce(..) | MeshCollectiveKind::ReduceScatter(..) => {
                    match data.operands.first().and_then(|&v| self.sharding(v)) {
                        Some(_) => Ok(()),
                        None => Err("the operand has no sharding, so it has no unreduced axes".to_owned()),
                    }
                }
                _ => self.default(&operands(all), results),
            },
            OpKind::AllReduce(_) | OpKind::ReduceScatter { .. } => {
                let done = data.regions.first().and_then(|&r| reduction_of(self.module, r, results.len()));
                let (before, after) = (data.operands.first(), results.first());
                let before: Vec<_> = before.and_then(|&v| self.sharding(v)).into_iter().collect();
                let after: Vec<_> = after.and_then(|&v| self.sharding(v)).into_iter().collect();
                transition(self.module, &before, &after, None, done)
            }
            OpKind::Call { callee } => match self.module.func_names.get(callee) {
                Some(&callee) => self.call(callee, &data.operands, results),
                None => Ok(()),
            },
            OpKind::Return => self.end(op, &data.operands),
            _ => self.change(&operands(all), results, sum, None),
        }
    }

    fn default(&mut self, operands: &[ValueId], results: &[ValueId]) -> Checked {
        self.change(operands, results, Some(ReductionKind::Add), None)
    }

    /// Checks an operation that may produce results that are unreduced with the reduction `made`, and may reduce operands that are
    /// unreduced with the reduction `done`. `None` means that it cannot do so.
    fn change(
        &mut self,
        operands: &[ValueId],
        results: &[ValueId],
        made: Option<ReductionKind>,
        done: Option<ReductionKind>,
    ) -> Checked {
        let operands = operands.iter().filter(|&&v| !self.is_resharded(v)).copied().collect::<Vec<_>>();
        let before: Vec<ShardingId> = operands.iter().filter_map(|&v| self.sharding(v)).collect();
        let after: Vec<ShardingId> = results.iter().filter_map(|&v| self.sharding(v)).collect();
        transition(self.module, &before, &after, made, done)
    }

    fn call(&mut self, callee: FuncId, operands: &[ValueId], results: &[ValueId]) -> Checked {
        let params = match self.module.funcs[callee].body {
            Some(body) => self.module.regions[body].args.clone(),
            None => Vec::new(),
        };
        for (i, (&operand, &param)) in operands.iter().zip(&params).enumerate() {
            if !self.is_resharded(operand) {
                let (given, wanted) = (self.sharding(operand), self.sharding(param));
                self.same(given, wanted, &format!("argument {i}"), "parameter")?;
            }
        }
        for (i, &result) in results.iter().enumerate() {
            let given = self.module.funcs[callee].res_shardings.get(i).and_then(|id| id.expand());
            let wanted = self.sharding(result);
            self.same(given, wanted, &format!("result {i} of the function"), "result of the call")?;
        }
        Ok(())
    }

    /// Checks that the values that `op` returns have the unreduced axes of the results of the enclosing function or computation.
    fn end(&mut self, op: OpId, returned: &[ValueId]) -> Checked {
        let at_end = |region: RegionId| self.module.regions[region].ops.last() == Some(&op);
        let in_func = at_end(self.body);
        let owner = self.places.owner_of_end(op);
        for (i, &value) in returned.iter().enumerate() {
            if self.is_resharded(value) {
                continue;
            }
            let wanted = if in_func {
                self.module.funcs[self.func].res_shardings.get(i).and_then(|id| id.expand())
            } else {
                let Some(owner) = owner else { return Ok(()) };
                let Some(&result) = self.module.ops[owner].results.get(i) else { continue };
                let wanted = self.sharding(result);
                match (self.module.ops[owner].kind.clone(), wanted) {
                    (OpKind::ManualComputation(spec), Some(id)) => {
                        Some(manual::without_manual_axes(self.module, &spec, id))
                    }
                    (OpKind::NamedComputation(_), wanted) => wanted,
                    _ => None,
                }
            };
            if wanted.is_some() {
                let given = self.sharding(value);
                self.same(given, wanted, &format!("return value {i}"), "result")?;
            }
        }
        Ok(())
    }

    fn same(
        &self,
        given: Option<ShardingId>,
        wanted: Option<ShardingId>,
        what: &str,
        other: &str,
    ) -> Checked {
        let axes = |id: Option<ShardingId>| {
            let mut axes =
                id.map_or_else(AxisList::new, |id| self.module.shardings.get(id).unreduced.clone());
            axes.sort_unstable();
            axes
        };
        let (a, b) = (axes(given), axes(wanted));
        if a == b {
            return Ok(());
        }
        let text = |id: Option<ShardingId>, axes: &AxisList| match id {
            Some(id) if !axes.is_empty() => {
                let mesh = &self.module.meshes[self.module.shardings.get(id).mesh];
                let names: Vec<String> = axes.iter().map(|&axis| mesh.axis_text(axis)).collect();
                format!("unreduced along {}", names.join(", "))
            }
            _ => "reduced".to_owned(),
        };
        Err(format!(
            "{what} is {}, but the {other} is {}; reshard the value",
            text(given, &a),
            text(wanted, &b)
        ))
    }

    fn sharding(&mut self, value: ValueId) -> Option<ShardingId> {
        self.places.get(self.module, through_barriers(self.module, value))
    }

    fn is_resharded(&self, value: ValueId) -> bool {
        let def = self.module.def_op(through_barriers(self.module, value));
        def.is_some_and(|op| {
            matches!(self.module.ops[op].kind, OpKind::Reshard(_) | OpKind::ShardingConstraint(_))
        })
    }
}

/// Checks whether an operation may change the unreduced axes from those in the operands' shardings (`before`) to those in the results'
/// shardings (`after`). `made` and `done` are as in [`Checker::change`].
fn transition(
    module: &Module,
    before: &[ShardingId],
    after: &[ShardingId],
    made: Option<ReductionKind>,
    done: Option<ReductionKind>,
) -> Checked {
    let get = |id: &ShardingId| module.shardings.get(*id);
    let mut meshes = before.iter().chain(after).map(|id| &module.meshes[get(id).mesh]);
    let Some(mesh) = meshes.next() else { return Ok(()) };
    if meshes.any(|other| other != mesh) {
        return Ok(());
    }
    let pending =
        |ids: &[ShardingId]| -> AxisList { ids.iter().flat_map(|id| get(id).unreduced.clone()).collect() };
    let (had, has) = (pending(before), pending(after));
    let beyond = |axes: &AxisList, others: &AxisList| -> AxisList {
        axes.iter().flat_map(|&axis| minus(mesh, axis, others)).collect()
    };
    let (new, gone) = (beyond(&has, &had), beyond(&had, &has));
    let name = |axes: &AxisList| axes.first().map_or(String::new(), |&axis| mesh.axis_text(axis));
    let touches = |id: &&ShardingId, axes: &AxisList| {
        get(id)
            .unreduced
            .iter()
            .any(|&a| axes.iter().any(|&b| shardc_passes::internal::sub_axes::overlaps(a, b)))
    };
    if !new.is_empty() {
        let Some(made) = made else {
            return Err(format!("the result cannot become unreduced along {}", name(&new)));
        };
        if let Some(id) = after.iter().find(|id| touches(id, &new) && get(id).reduction != made) {
            let have = word(get(id).reduction);
            return Err(format!(
                "the result is an unreduced {have}, but the operation can only produce an unreduced {}",
                word(made)
            ));
        }
    }
    if !gone.is_empty() {
        let Some(done) = done else {
            let axis = name(&gone);
            return Err(format!(
                "the unreduced axis {axis} of an operand is dropped without a reduction; reshard the operand first"
            ));
        };
        if let Some(id) = before.iter().find(|id| touches(id, &gone) && get(id).reduction != done) {
            let have = word(get(id).reduction);
            return Err(format!(
                "the operation reduces an unreduced {have} with the reduction {}",
                word(done)
            ));
        }
    }
    for to in after.iter().map(get) {
        let changed = |from: &&ShardingId| {
            let from = get(from);
            from.reduction != to.reduction
                && from
                    .unreduced
                    .iter()
                    .any(|&a| to.unreduced.iter().any(|&b| shardc_passes::internal::sub_axes::overlaps(a, b)))
        };
        if let Some(from) = before.iter().find(changed) {
            let (have, want) = (word(get(from).reduction), word(to.reduction));
            return Err(format!("the operation changes an unreduced {have} to an unreduced {want}"));
        }
    }
    Ok(())
}

fn word(kind: ReductionKind) -> &'static str {
    match kind {
        ReductionKind::Add => "sum",
        other => other.word(),
    }
}
