//! `sdy-insert-explicit-reshards`, as far as XLA's partitioner needs it; reshards for which XLA makes better choices remain implicit.
//!
//! The following become explicit:
//! * all-reduces of unreduced values whose users expect reduced values, and conversions to unreduced values;
//! * reshards of call arguments to the parameters' shardings;
//! * reshards of concatenation operands with different shardings;
//! * the reshard of a `dot_general` result to the axes of the contracting dimension, if this is cheaper (`dot.rs`);
//! * transfers to and from single devices.

mod common_axes;
mod dot;

mod one_device;
mod pending;

use shardc_ir::{
    Diagnostic, FuncId, InsertionPoint, Insertions, Mesh, MeshId, Module, OpId, OpKind, RegionId, ShardingId,
    TensorSharding, ValueId, ValueMap,
};
use shardc_passes::driver::pass_options::PassOption;
use shardc_passes::internal::Projection;
use shardc_passes::internal::access::ShardingAccess;
use shardc_passes::rules::rule_of;
use shardc_passes::rules::sharding_rule::{FactorKind, ShardingRule};

use crate::shardings::{self, equivalent, through_barriers};

/// Makes every reshard of operands and results explicit. This pass rejects the option; the pass `plan` makes every reshard explicit.
pub(super) const FULL: PassOption = PassOption::flag("enable-full-version");

/// Inserts reshards and collectives.
///
/// # Errors
/// An argument or result of a function is on a single device, or an operation has results on different single devices.
pub(super) fn insert(module: &mut Module, full: bool) -> Result<(), Vec<Diagnostic>> {
    if full {
        let message = "sdy-insert-explicit-reshards cannot make every reshard explicit";
        let error = Diagnostic::unsupported("SH0823", message);
        return Err(vec![error.hint("use shardc's pass `plan`, which needs a program without calls")]);
    }
    let funcs: Vec<FuncId> = module.funcs.keys().collect();
    let mut errors: Vec<Diagnostic> =
        funcs.iter().flat_map(|&func| one_device::check(module, func)).collect();
    if errors.is_empty() {
        for func in funcs {
            if let Some(body) = module.funcs[func].body {
                errors.extend(insert_in(module, func, body));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// One use of a value: an operation, and the index of the operand.
#[derive(Clone, Copy, Debug)]
struct Use {
    op: OpId,
    operand: usize,
}

struct Inserter<'m> {
    module: &'m mut Module,
    places: ShardingAccess,
    insertions: Insertions,
    /// For each value that was resharded or reduced, the new value that its users read.
    forward: ValueMap,
    /// Reshards that were replaced, and are erased at the end.
    gone: Vec<OpId>,
    errors: Vec<Diagnostic>,
}

fn insert_in(module: &mut Module, func: FuncId, body: RegionId) -> Vec<Diagnostic> {
    let places = ShardingAccess::new(module);
    let mut inserter = Inserter {
        module,
        places,
        insertions: Insertions::default(),
        forward: ValueMap::new(),
        gone: Vec::new(),
        errors: Vec::new(),
    };
    for op in inserter.module.walk_inner_first(body) {
        inserter.forward.rewrite(&mut inserter.module.ops[op].operands);
        inserter.visit(op);
    }
    inserter.returned(func, body);
    let Inserter { module, insertions, mut gone, errors, .. } = inserter;
    gone.sort_unstable();
    insertions.apply(module, body, &ValueMap::new(), |op| gone.binary_search(&op).is_ok());
    errors
}

impl Inserter<'_> {
    fn visit(&mut self, op: OpId) {
        match &self.module.ops[op].kind {
            // `return` and explicit collectives have their own rules for the sharding of their operand.
            OpKind::Return | OpKind::MeshCollective(_) => return,
            OpKind::While
            | OpKind::Case
            | OpKind::OptimizationBarrier
            | OpKind::ManualComputation(_)
            | OpKind::NamedComputation(_) => return self.data_flow(op),
            OpKind::Call { .. } => return self.call(op),
            OpKind::Reshard(target) => {
                let target = *target;
                let (used, mut at) = (Use { op, operand: 0 }, InsertionPoint::Before(op));
                if self.make_pending(used, Some(target), &mut at) {
                    if let (&[result], value) = (self.module.ops[op].results.as_slice(), self.value(used)) {
                        self.forward.insert(result, value);
                    }
                    self.gone.push(op);
                } else {
                    self.complete_operands(op);
                }
                return;
            }
            _ => {}
        }
        self.complete_operands(op);
        if !self.one_device(op) {
            self.by_rule(op);
        }
    }

    /// Inserts all-reduces of operands along unreduced axes that the first result does not have.
    fn complete_operands(&mut self, op: OpId) {
        let first = self.module.ops[op].results.first().copied();
        let target = first.and_then(|v| self.sharding(v));
        let mut at = InsertionPoint::Before(op);
        for operand in 0..self.module.ops[op].operands.len() {
            self.complete(Use { op, operand }, target, &mut at);
        }
    }

    /// For control flow, barriers, and manual and named computations: converts operands, and values returned from regions, to the unreduced
    /// axes of the results or block arguments that receive them.
    fn data_flow(&mut self, op: OpId) {
        let (kind, results) = (self.module.ops[op].kind.clone(), self.module.ops[op].results.clone());
        let ends: Vec<OpId> =
            self.module.ops[op].regions.iter().filter_map(|&r| self.module.terminator(r)).collect();
        for (i, &result) in results.iter().enumerate() {
            let mut target = self.sharding(result);
            if let (OpKind::ManualComputation(spec), Some(id)) = (&kind, target) {
                target = Some(shardc_passes::internal::manual::without_manual_axes(self.module, spec, id));
            }
            let from_ends = ends.iter().map(|&end| Use { op: end, operand: i });
            let sources: Vec<Use> = match kind {
                OpKind::While => {
                    let last = ends.last().map(|&end| Use { op: end, operand: i });
                    std::iter::once(Use { op, operand: i }).chain(last).collect()
                }
                OpKind::OptimizationBarrier => vec![Use { op, operand: i }],
                _ => from_ends.collect(),
            };
            for used in sources {
                self.satisfy(used, target, None);
            }
        }
        let in_shardings = match kind {
            OpKind::ManualComputation(spec) => spec.in_shardings.into_iter().map(Some).collect(),
            OpKind::NamedComputation(spec) => spec.in_shardings.map_or_else(
                || vec![None; self.module.ops[op].operands.len()],
                |list| list.into_iter().map(Some).collect(),
            ),
            _ => Vec::new(),
        };
        for (operand, target) in in_shardings.into_iter().enumerate() {
            self.satisfy(Use { op, operand }, target, None);
        }
    }

    /// Reshards the arguments of a call, so that all calls share one function.
    fn call(&mut self, op: OpId) {
        let OpKind::Call { callee } = &self.module.ops[op].kind else { return };
        let Some(&func) = self.module.func_names.get(callee) else { return };
        let operands = self.module.ops[op].operands.clone();
        let targets = match shardings::of_params(self.module, func) {
            Some(targets) => targets,
            None => {
                let given: Vec<_> = operands.iter().map(|&v| self.sharding(v)).collect();
                let Some(mesh) = shardings::mesh_of(self.module, given) else { return };
                let whole = |&v: &ValueId| {
                    let whole = TensorSharding::replicated(mesh, self.module.rank(v));
                    self.module.shardings.intern(whole)
                };
                operands.iter().map(whole).collect()
            }
        };
        for (operand, target) in targets.into_iter().enumerate().take(operands.len()) {
            self.satisfy(Use { op, operand }, Some(target), None);
            let value = self.value(Use { op, operand });
            let have = self.sharding(value);
            if !equivalent(self.module, have, Some(target)) {
                let mut at = InsertionPoint::behind(self.module, operands[operand]);
                // If `satisfy` inserted an operation after the argument's producer, the reshard is inserted after that operation.
                if let (InsertionPoint::After(_, i) | InsertionPoint::Start(_, i), true) =
                    (&mut at, value != operands[operand])
                {
                    *i += 1;
                }
                let target = self.module.shardings.get(target).clone();
                self.reshard(Use { op, operand }, value, target, &mut at);
            }
        }
    }

    /// Gives the values that a function returns the unreduced axes of the function's results.
    fn returned(&mut self, func: FuncId, body: RegionId) {
        let Some(end) = self.module.terminator(body) else { return };
        let mut at = InsertionPoint::Before(end);
        for operand in 0..self.module.ops[end].operands.len() {
            let target = self.module.funcs[func].res_shardings.get(operand).and_then(|id| id.expand());
            self.satisfy(Use { op: end, operand }, target, Some(&mut at));
        }
    }

    /// Gives one use of a value the unreduced axes of `target`, by an all-reduce or by a conversion to an unreduced value. The new
    /// operations are inserted at `at`, or directly after the value if `at` is `None`.
    fn satisfy(&mut self, used: Use, target: Option<ShardingId>, at: Option<&mut InsertionPoint>) {
        if self.module.ops[used.op].operands.len() <= used.operand {
            return;
        }
        let mut behind = InsertionPoint::behind(self.module, self.value(used));
        let at = at.unwrap_or(&mut behind);
        self.complete(used, target, at);
        self.make_pending(used, target, at);
    }

    /// Inserts the reshards and reductions that the sharding rule of an operation requires.
    fn by_rule(&mut self, op: OpId) {
        let Some(rule) = rule_of(self.module, op).filter(|rule| !rule.custom) else { return };
        let data = &self.module.ops[op];
        let values: Vec<ValueId> = data.operands.iter().chain(&data.results).copied().collect();
        let num_operands = data.operands.len();
        let given: Vec<Option<ShardingId>> = values
            .iter()
            .map(|&v| {
                let behind = through_barriers(self.module, v);
                self.sharding(behind)
            })
            .collect();
        let Some(mesh) = self.mesh_for(&given) else { return };
        let filled: Vec<TensorSharding> = given
            .iter()
            .zip(&values)
            .map(|(id, &v)| match id {
                Some(id) => self.module.shardings.get(*id).clone(),
                None => TensorSharding::replicated(mesh, self.module.rank(v)),
            })
            .collect();
        let mut projection = Projection::new(&self.module.meshes[mesh], &rule, filled.iter().map(Some));
        let reduced = if self.differs_in_concatenation(op) {
            let common = common_axes::find(self.module, op, mesh, &rule, &projection);
            let changed = common_axes::update(&mut projection, &common);
            for (i, changed) in changed.into_iter().enumerate() {
                if !changed && !self.on_other_devices(given[i], mesh) {
                    continue;
                }
                let mapping = rule.tensors().nth(i).cloned().unwrap_or_default();
                let new =
                    projection.tensors[i].sharding(&self.module.meshes[mesh], mesh, &rule.factors, &mapping);
                if i < num_operands {
                    let used = Use { op, operand: i };
                    self.reshard(used, self.value(used), new, &mut InsertionPoint::Before(op));
                } else {
                    self.reshard_result(values[i], new, mesh);
                }
            }
            let is_reduction = |f: usize| rule.factors[f].kind == FactorKind::Reduction;
            common
                .iter()
                .enumerate()
                .filter(|(f, _)| is_reduction(*f))
                .flat_map(|(_, axes)| axes.clone())
                .collect()
        } else {
            self.dot(op, mesh, &rule, &mut projection, given.last().copied().flatten());
            self.reduced(op, &rule, &projection)
        };
        self.complete_results(op, mesh, &reduced);
    }

    /// Computes a result with the sharding `new`, and reshards it to its old sharding for its users.
    fn reshard_result(&mut self, result: ValueId, new: TensorSharding, mesh: MeshId) {
        let wanted = match self.sharding(result) {
            Some(id) => id,
            None => {
                let whole = TensorSharding::replicated(mesh, self.module.rank(result));
                self.module.shardings.intern(whole)
            }
        };
        let reshard = self.new_op(result, OpKind::Reshard(wanted));
        if let Some(op) = self.module.def_op(result) {
            self.insertions.insert(&mut InsertionPoint::After(op, 0), reshard);
        }
        self.replace(result, reshard);
        let new = self.module.shardings.intern(new);
        self.places.set(self.module, result, new);
    }

    /// Returns the axes that shard the reduction factors of an operation, if its first result must stay unreduced along some axis.
    /// Otherwise, returns no axes, and XLA inserts the reduction.
    fn reduced(&mut self, op: OpId, rule: &ShardingRule, projection: &Projection) -> Vec<shardc_ir::AxisRef> {
        let first = self.module.ops[op].results.first().copied();
        if first.is_none_or(|v| self.unreduced(v).is_empty()) {
            return Vec::new();
        }
        let mut out = Vec::new();
        for (f, _) in rule.factors.iter().enumerate().filter(|(_, f)| f.kind == FactorKind::Reduction) {
            let mut axes = projection.tensors.iter().filter_map(|t| t.factors[f].as_ref()).map(|s| &s.axes);
            let Some(first) = axes.next() else { continue };
            if axes.any(|axes| axes != first) {
                let message = "the result is unreduced, but the operands have different shardings along a reduction dimension";
                let error = Diagnostic::unsupported("SH0824", message).at(self.module.ops[op].span);
                self.errors.push(error);
                return Vec::new();
            }
            out.extend(first.iter().copied());
        }
        out
    }

    fn differs_in_concatenation(&mut self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        let (OpKind::Concatenate { .. }, &[result]) = (&data.kind, data.results.as_slice()) else {
            return false;
        };
        let operands = data.operands.clone();
        let of_result = self.sharding(result);
        operands.into_iter().any(|v| self.sharding(v) != of_result)
    }

    /// Returns the mesh for an operation; `None` if the meshes of its values have different axes. If these meshes differ only in device
    /// order, returns the mesh on which the largest number of values are sharded.
    fn mesh_for(&self, given: &[Option<ShardingId>]) -> Option<MeshId> {
        let meshes = &self.module.meshes;
        let is_empty = |mesh: &Mesh| mesh.axes.is_empty() && mesh.device_ids.is_none();
        let mut found: Option<MeshId> = None;
        for id in given.iter().flatten() {
            let mesh = self.module.shardings.get(*id).mesh;
            match found {
                Some(before) if !is_empty(&meshes[before]) => {
                    if is_empty(&meshes[mesh]) {
                        continue;
                    }
                    if !meshes[before].axes.iter().eq(&meshes[mesh].axes) {
                        return None;
                    }
                    if meshes[mesh].device_ids.is_none() {
                        found = Some(mesh);
                    }
                }
                _ => found = Some(mesh),
            }
        }
        let mut best = found.filter(|&mesh| !meshes[mesh].is_maximal())?;
        let mut counts: Vec<(MeshId, usize)> = Vec::new();
        let mut most = 0;
        for sharding in given.iter().flatten().map(|&id| self.module.shardings.get(id)) {
            if sharding.is_unsplit() && sharding.unreduced.is_empty() {
                continue;
            }
            let at = match counts.iter().position(|(mesh, _)| *mesh == sharding.mesh) {
                Some(at) => at,
                None => {
                    counts.push((sharding.mesh, 0));
                    counts.len() - 1
                }
            };
            counts[at].1 += 1;
            if counts[at].1 > most {
                (best, most) = counts[at];
            }
        }
        Some(best)
    }

    fn on_other_devices(&self, id: Option<ShardingId>, mesh: MeshId) -> bool {
        let Some(sharding) = id.map(|id| self.module.shardings.get(id)) else { return false };
        !(sharding.is_unsplit() && sharding.unreduced.is_empty())
            && self.module.meshes[sharding.mesh].device_ids != self.module.meshes[mesh].device_ids
    }

    fn sharding(&mut self, value: ValueId) -> Option<ShardingId> {
        self.places.get(self.module, value)
    }

    fn value(&self, used: Use) -> ValueId {
        self.module.ops[used.op].operands[used.operand]
    }

    fn set_value(&mut self, used: Use, op: OpId) {
        self.module.ops[used.op].operands[used.operand] = self.module.ops[op].results[0];
    }

    /// Makes all users of `value` read the result of `new`, which reads `value`.
    fn replace(&mut self, value: ValueId, new: OpId) {
        let result = self.module.ops[new].results[0];
        let reader = self.module.def_op(self.forward.get(value)).filter(|_| self.forward.get(value) != value);
        match reader {
            // The operation that already replaces the value now takes the new operation's result as its operand.
            Some(reader) => self.module.ops[reader].operands[0] = result,
            None => self.forward.insert(value, result),
        }
    }

    fn reshard(&mut self, used: Use, value: ValueId, target: TensorSharding, at: &mut InsertionPoint) {
        let target = self.module.shardings.intern(target);
        let new = self.new_op(value, OpKind::Reshard(target));
        self.insertions.insert(at, new);
        self.set_value(used, new);
    }

    /// Creates an operation that maps `value` to a value of the same type, with the source location of its producer.
    fn new_op(&mut self, value: ValueId, kind: OpKind) -> OpId {
        let ty = self.module.values[value].ty;
        let new = self.module.add_op(kind, &[value], &[ty], &[]);
        if let Some(def) = self.module.def_op(value) {
            (self.module.ops[new].span, self.module.ops[new].loc) =
                (self.module.ops[def].span, self.module.ops[def].loc);
        }
        new
    }
}
