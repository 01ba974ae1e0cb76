//! Assigns operations to units, and chooses the values to save between units.
//!
//! The *stage* of an operation is the last unit, in order of use, whose parameters it depends on. Operations that depend on the last unit
//! and are not part of the loss are the backward pass: gradients depend on the loss, which depends on all units.
//!
//! Values that a stage reads from other stages are saved. If the inputs of such a value are smaller and no matmul is recomputed, the inputs
//! are saved instead, and the stage recomputes the operations. For example, the input of a normalization is saved instead of its result,
//! or one mask instead of one for each head.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{EntityRef, Module, OpId, OpKind, RegionId, ValueId, Work};

use crate::flow;
use crate::roles::{Role, Roles};
use crate::units::Units;

/// The units and kinds of arguments that a value depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct From {
    /// The last unit that the value depends on.
    stage: Option<u32>,
    /// Whether the value depends on parameters.
    weights: bool,
    /// Whether the value depends on arguments of the step other than parameters.
    inputs: bool,
    /// Whether the value depends on data, RNG keys or model state.
    data: bool,
}

impl From {
    fn join(self, other: From) -> From {
        From {
            stage: self.stage.max(other.stage),
            weights: self.weights || other.weights,
            inputs: self.inputs || other.inputs,
            data: self.data || other.data,
        }
    }

    /// Returns whether the value is an activation. A weight that is decayed by a rate, which is an input, is still a weight.
    fn is_activation(self) -> bool {
        self.inputs && (self.data || !self.weights)
    }
}

pub(super) struct Stages {
    /// For each value of the body, the units and kinds of arguments that it depends on.
    from: Vec<From>,
    /// The stage of each operation of the body; `None` for operations before all units.
    stage: Vec<Option<u32>>,
    /// For each operation, the other stages that recompute its results.
    again: FxHashMap<OpId, Vec<u32>>,
    backward: FxHashSet<OpId>,
    kept: FxHashSet<ValueId>,
    count: u32,
}

impl Stages {
    /// Computes the stages of a body without calls; `None` if the program does not train, or has fewer than two units.
    pub(super) fn of(module: &Module, body: RegionId, roles: &Roles, units: &Units) -> Option<Stages> {
        let ops = &module.regions[body].ops;
        let end = module.terminator(body)?;
        let returned = &module.ops[end].operands;
        let forward = flow::computed_by(module, [*returned.get(roles.loss?)?]);
        let mut out = Stages {
            from: vec![From::default(); module.values.len()],
            stage: vec![None; module.ops.len()],
            again: FxHashMap::default(),
            backward: FxHashSet::default(),
            kept: returned.iter().copied().collect(),
            count: 0,
        };
        out.arguments(module, body, roles, units);
        let last = out.count.checked_sub(1).filter(|&last| last > 0)?;
        for &op in ops.iter().filter(|&&op| op != end) {
            let read = flow::reads(module, op);
            let from = read.iter().map(|value| out.from[value.index()]).fold(From::default(), From::join);
            for result in &module.ops[op].results {
                out.from[result.index()] = from;
            }
            out.stage[op.index()] = from.stage;
            if from.stage == Some(last) && !forward.contains(&op) {
                out.backward.insert(op);
            }
        }
        out.settle(module, body);
        Some(out)
    }

    /// Sets the stage and kind of each argument. The stage is the number of its unit, in order of first use.
    fn arguments(&mut self, module: &Module, body: RegionId, roles: &Roles, units: &Units) {
        let args = &module.regions[body].args;
        let mut unit_of = vec![None; module.values.len()];
        for ((&arg, argument), unit) in args.iter().zip(&roles.arguments).zip(&units.of) {
            let weights = argument.role.is_weight();
            let data = matches!(argument.role, Role::Batch | Role::RngKey | Role::ModelState);
            self.from[arg.index()] = From { stage: None, weights, inputs: !weights, data };
            unit_of[arg.index()] = *unit;
        }
        let mut stage_of: Vec<Option<u32>> = vec![None; units.names.len()];
        for op in module.walk(body) {
            for value in &module.ops[op].operands {
                let stage = unit_of[value.index()].and_then(|unit| stage_of.get_mut(unit));
                if let Some(stage @ None) = stage {
                    *stage = Some(self.count);
                    self.count += 1;
                }
            }
        }
        for (&arg, unit) in args.iter().zip(&units.of) {
            self.from[arg.index()].stage = unit.and_then(|unit| *stage_of.get(unit)?);
        }
    }

    /// Chooses the saved values, visiting users before producers. Operations that only a later stage uses move to that stage if fewer
    /// bytes are then saved between stages.
    fn settle(&mut self, module: &Module, body: RegionId) {
        let users = flow::users(module, body);
        let ops = module.regions[body].ops.iter().copied();
        let staged: Vec<OpId> = ops.filter(|&op| self.is_staged(module, op)).collect();
        let readers = |stages: &Stages, op: OpId| -> Vec<OpId> {
            let results = module.ops[op].results.iter().filter_map(|result| users.get(result));
            results.flatten().copied().filter(|&reader| stages.is_staged(module, reader)).collect()
        };
        for &op in staged.iter().rev() {
            let stages: Vec<_> = readers(self, op).iter().map(|reader| self.stage[reader.index()]).collect();
            if let Some(&Some(next)) = stages.first()
                && stages.iter().all(|&stage| stage == Some(next))
                && let Some(bytes) = Again::of(module, self, next).instead(op)
                && bytes <= given(module, op)
            {
                self.stage[op.index()] = Some(next);
            }
            self.keep(module, op);
        }
        // Operations used only by the backward pass move to the latest stage of their operands. If that is their own stage, they move to
        // the next stage, provided that all activations they read are saved.
        for &op in &staged {
            if !readers(self, op).is_empty() {
                continue;
            }
            let own = self.stage[op.index()];
            let read = flow::reads(module, op);
            let made = read.iter().filter_map(|&value| self.stage[module.def_op(value)?.index()]).max();
            let is_kept = |value: &ValueId| !self.is_activation(*value) || self.kept.contains(value);
            let next = made.filter(|&made| Some(made) > own).or_else(|| {
                let next = own.map_or(0, |own| own + 1);
                read.iter().all(is_kept).then_some(next)
            });
            if let Some(next) = next.filter(|&next| next < self.count) {
                self.stage[op.index()] = Some(next);
                self.keep(module, op);
            }
        }
    }

    /// Returns whether an operation is neither part of the backward pass nor a terminator.
    fn is_staged(&self, module: &Module, op: OpId) -> bool {
        !self.backward.contains(&op) && !matches!(module.ops[op].kind, OpKind::Return)
    }

    /// Saves the values of other stages that an operation reads, or the values from which its own stage recomputes them.
    fn keep(&mut self, module: &Module, op: OpId) {
        let Some(stage) = self.stage[op.index()] else { return };
        for value in flow::reads(module, op) {
            let mut again = Again::of(module, self, stage);
            again.bytes(value);
            let ops = again.ops;
            let mut read = vec![value];
            for &op in &ops {
                self.again.entry(op).or_default().push(stage);
                read.extend(flow::reads(module, op));
            }
            read.retain(|&value| self.is_activation(value) && !self.makes(module, value, stage));
            self.kept.extend(read);
        }
    }

    /// Returns whether a stage computes a value: the producer of the value belongs to the stage, or the stage recomputes the producer.
    fn makes(&self, module: &Module, value: ValueId, stage: u32) -> bool {
        module.def_op(value).is_some_and(|op| {
            self.stage[op.index()] == Some(stage)
                || self.again.get(&op).is_some_and(|again| again.contains(&stage))
        })
    }

    fn is_activation(&self, value: ValueId) -> bool {
        self.from.get(value.index()).is_some_and(|from| from.is_activation())
    }

    pub(super) fn is_backward(&self, op: OpId) -> bool {
        self.backward.contains(&op)
    }

    /// Returns the last stage, which is not rematerialized.
    pub(super) fn last(&self) -> u32 {
        self.count - 1
    }

    /// Returns the stages that can rematerialize a value; none for a saved value.
    fn again(&self, module: &Module, value: ValueId) -> impl Iterator<Item = u32> {
        let is_again = self.is_activation(value) && !self.kept.contains(&value);
        let op = module.def_op(value).filter(|op| is_again && !self.backward.contains(op));
        let op = op.filter(|&op| module.is_pure(&module.ops[op]));
        let own = op.and_then(|op| self.stage[op.index()]);
        let others = op.and_then(|op| self.again.get(&op)).map(Vec::as_slice).unwrap_or_default();
        own.into_iter().chain(others.iter().copied())
    }

    /// Returns the stage that rematerializes a value, if any, when the backward pass is at stage `now`.
    pub(super) fn stage_for(&self, module: &Module, value: ValueId, now: u32) -> Option<u32> {
        let before = self.again(module, value).filter(|&stage| stage <= now).max();
        before.or_else(|| self.again(module, value).min()).filter(|&stage| stage < self.last())
    }

    /// Returns the operations of a stage that values depend on, in order, and the saved values that these operations read.
    pub(super) fn cone(
        &self,
        module: &Module,
        body: RegionId,
        stage: u32,
        values: impl IntoIterator<Item = ValueId>,
    ) -> (Vec<OpId>, Vec<ValueId>) {
        let (cone, mut inputs) = self.cone_of(module, stage, values);
        inputs.sort();
        (module.regions[body].ops.iter().copied().filter(|op| cone.contains(op)).collect(), inputs)
    }

    /// Returns whether a stage can compute a value from results of operations for which `before` is true. A value that is first read in the
    /// middle of the backward pass may depend on values produced in the backward pass.
    pub(super) fn can_compute(
        &self,
        module: &Module,
        stage: u32,
        value: ValueId,
        before: impl Fn(OpId) -> bool,
    ) -> bool {
        let (cone, _) = self.cone_of(module, stage, [value]);
        let mut read = cone.iter().flat_map(|&op| flow::reads(module, op));
        read.all(|value| module.def_op(value).is_none_or(|op| cone.contains(&op) || before(op)))
    }

    fn cone_of(
        &self,
        module: &Module,
        stage: u32,
        values: impl IntoIterator<Item = ValueId>,
    ) -> (FxHashSet<OpId>, Vec<ValueId>) {
        let mut cone: FxHashSet<OpId> = FxHashSet::default();
        let mut inputs: Vec<ValueId> = Vec::new();
        let mut todo: Vec<ValueId> = values.into_iter().collect();
        let mut seen: FxHashSet<ValueId> = todo.iter().copied().collect();
        while let Some(value) = todo.pop() {
            match module.def_op(value).filter(|_| self.again(module, value).any(|again| again == stage)) {
                Some(op) if cone.insert(op) => {
                    todo.extend(flow::reads(module, op).into_iter().filter(|&value| seen.insert(value)));
                }
                Some(_) => {}
                None => inputs.extend(Some(value).filter(|&value| self.is_activation(value))),
            }
        }
        (cone, inputs)
    }
}

/// The maximum number of operations that a stage recomputes for one value.
const TOGETHER: usize = 16;

/// Operations that a stage could recompute instead of saving their results.
struct Again<'a> {
    module: &'a Module,
    stages: &'a Stages,
    stage: u32,
    /// The operations to recompute: at most [`TOGETHER`], each once.
    ops: Vec<OpId>,
}

impl<'a> Again<'a> {
    fn of(module: &'a Module, stages: &'a Stages, stage: u32) -> Again<'a> {
        Again { module, stages, stage, ops: Vec::new() }
    }

    /// Returns the additional bytes to save so that the stage can read a value: the size of the value, or of the inputs from which the
    /// stage recomputes the value, if the inputs are not larger. Adds the recomputed operations to `ops`.
    fn bytes(&mut self, value: ValueId) -> u64 {
        let (module, stages) = (self.module, self.stages);
        let made = module.def_op(value);
        let is_there = !stages.is_activation(value)
            || stages.kept.contains(&value)
            || stages.makes(module, value, self.stage)
            || made.is_some_and(|op| self.ops.contains(&op));
        if is_there {
            return 0;
        }
        let before = self.ops.clone();
        let whole = bytes(module, value);
        let instead = made.filter(|op| !stages.backward.contains(op)).and_then(|op| self.instead(op));
        instead.filter(|&bytes| bytes <= whole).unwrap_or_else(|| {
            self.ops = before;
            whole
        })
    }

    /// Returns the additional bytes to save if the stage recomputes this operation; `None` if it cannot or should not be recomputed.
    fn instead(&mut self, op: OpId) -> Option<u64> {
        let (module, stages) = (self.module, self.stages);
        let data = &module.ops[op];
        let is_light = data.kind.def().work == Work::Light && module.is_pure(data);
        if stages.stage[op.index()] >= Some(self.stage) || !is_light || self.ops.len() == TOGETHER {
            return None;
        }
        let mut read = flow::reads(module, op);
        let from = |value: &ValueId| stages.from.get(value.index()).copied().unwrap_or_default();
        // Users of a parameter belong to the parameter's stage.
        if read.iter().any(|value| from(value).weights && !from(value).is_activation()) {
            return None;
        }
        self.ops.push(op);
        read.sort();
        read.dedup();
        Some(read.into_iter().map(|value| self.bytes(value)).fold(0, u64::saturating_add))
    }
}

/// Returns the total size in bytes of an operation's results.
fn given(module: &Module, op: OpId) -> u64 {
    module.ops[op].results.iter().map(|&value| bytes(module, value)).fold(0, u64::saturating_add)
}

fn bytes(module: &Module, value: ValueId) -> u64 {
    let bytes = module.tensor(value).and_then(|ty| ty.num_bytes());
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}
