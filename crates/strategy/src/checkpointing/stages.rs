//! Which operations are of which unit, and what is kept between units.
//!
//! An operation is in the *stage* of the last unit, in the order in which units are used, whose parameters it is computed from. What is
//! computed from the last one and is not part of the loss is the backward part: gradients come from the loss, which has all units
//! before it.
//!
//! What a stage reads of others is kept, or what that is computed by, where it is less and takes no product: of a normalization its
//! input rather than its result, of a mask for each head the mask. A stage then does these operations once more, too.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{EntityRef, Module, OpId, OpKind, RegionId, ValueId, Work};

use crate::flow;
use crate::roles::{Role, Roles};
use crate::units::Units;

/// What a value is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct From {
    /// The last unit.
    stage: Option<u32>,
    /// Whether there are parameters.
    weights: bool,
    /// Whether there is anything else that the step takes.
    inputs: bool,
    /// Whether any of that is new in each step, or state of the model.
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

    /// Whether the model computes it. A weight that decays by a rate, which is an input, is still a weight.
    fn is_activation(self) -> bool {
        self.inputs && (self.data || !self.weights)
    }
}

pub(super) struct Stages {
    /// Of each value of the body.
    from: Vec<From>,
    /// Of each operation of the body; `None` of what is before all units.
    stage: Vec<Option<u32>>,
    /// The stages besides its own that do an operation once more.
    again: FxHashMap<OpId, Vec<u32>>,
    backward: FxHashSet<OpId>,
    kept: FxHashSet<ValueId>,
    count: u32,
}

impl Stages {
    /// Of a body without calls; `None` if it does not train, or has fewer than two units.
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

    /// What arguments are computed from: units are counted in the order in which they are used.
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

    /// Finds what is kept, readers before what they read; operations that only a later stage reads go into it where less is kept
    /// then.
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
        // What the backward part alone reads is computed where most of what it needs is.
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

    /// Whether an operation is neither of the backward part nor the end.
    fn is_staged(&self, module: &Module, op: OpId) -> bool {
        !self.backward.contains(&op) && !matches!(module.ops[op].kind, OpKind::Return)
    }

    /// Keeps what an operation reads of other stages, or what that is computed by.
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

    /// Whether a stage makes a value, its own or that of another one once more.
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

    /// The last stage, which is not computed again.
    pub(super) fn last(&self) -> u32 {
        self.count - 1
    }

    /// The stages that can compute a value again, which is not kept.
    fn again(&self, module: &Module, value: ValueId) -> impl Iterator<Item = u32> {
        let is_again = self.is_activation(value) && !self.kept.contains(&value);
        let op = module.def_op(value).filter(|op| is_again && !self.backward.contains(op));
        let op = op.filter(|&op| module.is_pure(&module.ops[op]));
        let own = op.and_then(|op| self.stage[op.index()]);
        let others = op.and_then(|op| self.again.get(&op)).map(Vec::as_slice).unwrap_or_default();
        own.into_iter().chain(others.iter().copied())
    }

    /// The stage that a value is read of when the backward part has come to stage `now`, if it is to be computed again.
    pub(super) fn stage_for(&self, module: &Module, value: ValueId, now: u32) -> Option<u32> {
        let before = self.again(module, value).filter(|&stage| stage <= now).max();
        before.or_else(|| self.again(module, value).min()).filter(|&stage| stage < self.last())
    }

    /// The operations of a stage that values are computed by, in order, and what they read besides: what is kept.
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

    /// Whether a stage can compute a value where only what is made `before` is there: what the backward part reads first in its middle
    /// may be computed from what is made there.
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

/// How many operations at most a stage does once more for one value.
const TOGETHER: usize = 16;

/// Operations that a stage could do once more, rather than have what they give kept.
struct Again<'a> {
    module: &'a Module,
    stages: &'a Stages,
    stage: u32,
    /// Few, and each once.
    ops: Vec<OpId>,
}

impl<'a> Again<'a> {
    fn of(module: &'a Module, stages: &'a Stages, stage: u32) -> Again<'a> {
        Again { module, stages, stage, ops: Vec::new() }
    }

    /// The bytes that are kept besides if the stage reads a value, or does once more what it is computed by where that is no more.
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

    /// The bytes that are kept besides if the stage does an operation; `None` if it cannot, or should not.
    fn instead(&mut self, op: OpId) -> Option<u64> {
        let (module, stages) = (self.module, self.stages);
        let data = &module.ops[op];
        let is_light = data.kind.def().work == Work::Light && module.is_pure(data);
        if stages.stage[op.index()] >= Some(self.stage) || !is_light || self.ops.len() == TOGETHER {
            return None;
        }
        let mut read = flow::reads(module, op);
        let from = |value: &ValueId| stages.from.get(value.index()).copied().unwrap_or_default();
        // What reads a parameter belongs where that is.
        if read.iter().any(|value| from(value).weights && !from(value).is_activation()) {
            return None;
        }
        self.ops.push(op);
        read.sort();
        read.dedup();
        Some(read.into_iter().map(|value| self.bytes(value)).fold(0, u64::saturating_add))
    }
}

/// The bytes of what an operation gives.
fn given(module: &Module, op: OpId) -> u64 {
    module.ops[op].results.iter().map(|&value| bytes(module, value)).fold(0, u64::saturating_add)
}

fn bytes(module: &Module, value: ValueId) -> u64 {
    let bytes = module.tensor(value).and_then(|ty| ty.num_bytes());
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}
