//! Computes the arguments, or other chosen values, that each value of a function depends on.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DTypeClass, Module, OpId, OpKind, RegionId, SecondaryMap, ValueDef, ValueId};

use crate::flow::{reads, yielded};

/// A set of argument indices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Arguments(Vec<u64>);

impl Arguments {
    pub(crate) fn one(i: usize) -> Self {
        let mut set = Arguments(vec![0; i / 64 + 1]);
        set.0[i / 64] = 1 << (i % 64);
        set
    }

    pub(crate) fn contains(&self, i: usize) -> bool {
        self.0.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|&i| self.contains(i))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Returns whether the sets intersect.
    pub(crate) fn meets(&self, other: &Arguments) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Returns the union of the sets.
    pub(crate) fn union(mut self, other: &Arguments) -> Self {
        self.add(other);
        self
    }

    /// Adds the elements of `other`; returns whether the set changed.
    pub(crate) fn add(&mut self, other: &Arguments) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grew = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            grew |= *more & !*word != 0;
            *word |= more;
        }
        grew
    }
}

/// The kind of dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// Any data flow.
    Everything,
    /// Data flow through floating-point values only: the paths of derivatives.
    Floats,
}

/// The arguments that each value of a function depends on. In loops, each loop-carried value has its own dependences.
pub(crate) struct Dependence<'m> {
    module: &'m Module,
    through: Through,
    /// Loops for which only dependences within one iteration are computed.
    once: FxHashSet<OpId>,
    /// The sets, by value; empty sets have no memory.
    of: SecondaryMap<ValueId, Arguments>,
}

impl<'m> Dependence<'m> {
    /// Computes the dependences in a body without calls.
    pub(crate) fn of_body(module: &'m Module, body: RegionId, through: Through) -> Self {
        Dependence::on(module, body, through, module.regions[body].args.iter().copied().enumerate())
    }

    /// Computes the dependences on chosen values instead of arguments, each with its index.
    pub(crate) fn on(
        module: &'m Module,
        body: RegionId,
        through: Through,
        values: impl IntoIterator<Item = (usize, ValueId)>,
    ) -> Self {
        let given = values.into_iter().map(|(i, value)| (value, Arguments::one(i)));
        Dependence::with(module, body, through, given, FxHashSet::default())
    }

    /// Computes the dependences of all values, given those of some values; for loops in `once`, only within one iteration.
    pub(crate) fn with(
        module: &'m Module,
        body: RegionId,
        through: Through,
        values: impl IntoIterator<Item = (ValueId, Arguments)>,
        once: FxHashSet<OpId>,
    ) -> Self {
        let of = SecondaryMap::with_capacity(module.values.len());
        let mut out = Dependence { module, through, once, of };
        for (value, arguments) in values {
            if out.counts(value) {
                out.of[value].add(&arguments);
            }
        }
        out.region(body);
        out
    }

    /// Returns the arguments that a value depends on.
    pub(crate) fn of(&self, value: ValueId) -> Arguments {
        self.of[value].clone()
    }

    fn counts(&self, value: ValueId) -> bool {
        self.through == Through::Everything || is_float(self.module, value)
    }

    /// Adds the dependences of `from` to `to`; returns whether they changed.
    fn flow(&mut self, from: ValueId, to: ValueId) -> bool {
        if !self.counts(to) {
            return false;
        }
        let more = self.of[from].clone();
        self.of[to].add(&more)
    }

    fn region(&mut self, region: RegionId) -> bool {
        let mut grew = false;
        for &op in self.module.regions[region].ops.iter() {
            grew |= self.op(op);
        }
        grew
    }

    fn op(&mut self, op: OpId) -> bool {
        let module = self.module;
        let data = &module.ops[op];
        let yields = |region: RegionId| yielded(module, region).to_vec();
        match data.kind {
            OpKind::While => {
                let mut grew = false;
                let yielded = data.regions.last().map(|&body| yields(body)).unwrap_or_default();
                for &region in &data.regions {
                    for (&init, &arg) in data.operands.iter().zip(&module.regions[region].args) {
                        grew |= self.flow(init, arg);
                    }
                }
                // Iterates until the loop-carried dependences reach a fixpoint.
                loop {
                    let mut trip = false;
                    for &region in &data.regions {
                        trip |= self.region(region);
                        if self.once.contains(&op) {
                            continue;
                        }
                        for (&next, &arg) in yielded.iter().zip(&module.regions[region].args) {
                            trip |= self.flow(next, arg);
                        }
                    }
                    grew |= trip;
                    if !trip {
                        break;
                    }
                }
                for ((&init, &next), &result) in data.operands.iter().zip(&yielded).zip(&data.results) {
                    grew |= self.flow(init, result) | self.flow(next, result);
                }
                grew
            }
            OpKind::Case | OpKind::If => {
                let mut grew = false;
                for &region in &data.regions {
                    grew |= self.region(region);
                    for (&value, &result) in yields(region).iter().zip(&data.results) {
                        grew |= self.flow(value, result);
                    }
                }
                for (&operand, &result) in
                    data.operands.iter().flat_map(|o| data.results.iter().map(move |r| (o, r)))
                {
                    grew |= self.flow(operand, result);
                }
                grew
            }
            // A barrier forwards each operand separately.
            OpKind::OptimizationBarrier => {
                let pairs = data.operands.iter().zip(&data.results);
                pairs.fold(false, |grew, (&operand, &result)| grew | self.flow(operand, result))
            }
            _ => {
                let mut all = Arguments::default();
                let inner = data.regions.iter().flat_map(|&region| module.walk(region));
                let read = inner.flat_map(|op| module.ops[op].operands.iter());
                for value in data.operands.iter().chain(read) {
                    all.add(&self.of[*value]);
                }
                let mut grew = false;
                for (left, &result) in (0..data.results.len()).rev().zip(&data.results) {
                    if !self.counts(result) {
                        continue;
                    }
                    if left == 0 && self.of[result].is_empty() {
                        grew |= !all.is_empty();
                        self.of[result] = std::mem::take(&mut all);
                    } else {
                        grew |= self.of[result].add(&all);
                    }
                }
                grew
            }
        }
    }
}

/// Returns whether a value is differentiable.
pub(super) fn is_float(module: &Module, value: ValueId) -> bool {
    let dtype = module.tensor(value).map(|ty| ty.dtype);
    dtype.is_some_and(|dtype| matches!(dtype.class(), DTypeClass::Float | DTypeClass::Complex))
}

/// Returns whether a value is a differentiable scalar, such as a loss.
pub(super) fn is_number(module: &Module, value: ValueId) -> bool {
    module.tensor(value).is_some_and(|ty| ty.shape.is_empty() && ty.dtype.is_float())
}

/// Returns the values that `value` depends on through floats, and `value` itself. For a loss, the returned values are the forward pass.
/// For loops in `once`, only dependences within one iteration count. `owner` maps each region to its parent operation.
pub(super) fn forward_of(
    module: &Module,
    owner: &FxHashMap<RegionId, OpId>,
    value: ValueId,
    once: &FxHashSet<OpId>,
) -> FxHashSet<ValueId> {
    let (mut seen, mut todo) = (FxHashSet::default(), vec![value]);
    while let Some(value) = todo.pop() {
        if !is_float(module, value) || !seen.insert(value) {
            continue;
        }
        match module.values[value].def() {
            ValueDef::Result(op, i) => {
                let (data, i) = (&module.ops[op], i as usize);
                match data.kind {
                    OpKind::While => {
                        let body = data.regions.last().and_then(|&body| yielded(module, body).get(i));
                        todo.extend(data.operands.get(i).into_iter().chain(body));
                    }
                    OpKind::Case | OpKind::If => {
                        todo.extend(data.regions.iter().filter_map(|&region| yielded(module, region).get(i)));
                    }
                    // A barrier forwards each operand separately.
                    OpKind::OptimizationBarrier => todo.extend(data.operands.get(i)),
                    _ => todo.extend(reads(module, op)),
                }
            }
            ValueDef::Arg(region, i) => {
                let Some(&op) = owner.get(&region) else { continue };
                let (data, i) = (&module.ops[op], i as usize);
                if !matches!(data.kind, OpKind::While) {
                    continue;
                }
                todo.extend(data.operands.get(i));
                if !once.contains(&op) {
                    todo.extend(data.regions.last().and_then(|&body| yielded(module, body).get(i)));
                }
            }
        }
    }
    // Unused results of a loop or a branch also belong to the forward pass.
    let mut owners: Vec<OpId> = owner.values().copied().collect();
    owners.sort_unstable();
    owners.dedup();
    for data in owners.into_iter().map(|op| &module.ops[op]) {
        let regions = match data.kind {
            OpKind::While => data.regions.last().map(std::slice::from_ref).unwrap_or_default(),
            OpKind::Case | OpKind::If => data.regions.as_slice(),
            _ => continue,
        };
        for &region in regions {
            // Arguments that the region returns unchanged, such as values that a loop captures, are excluded.
            let is_computed = |value: &ValueId| module.def_op(*value).is_some() && seen.contains(value);
            let yielded_results = data.results.iter().zip(yielded(module, region));
            let forward = yielded_results.filter(|(_, value)| is_computed(value)).map(|(&result, _)| result);
            let forward: Vec<ValueId> = forward.collect();
            seen.extend(forward);
        }
    }
    seen
}
