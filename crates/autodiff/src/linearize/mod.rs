//! Linearization: the tangents of a region's values as a linear program.
//!
//! A region is walked in program order. For each operation with a tangent among its operands, its [rule](rules) writes the operations
//! that compute the tangents of its results to the *tape*, and the operations for their coefficients into the region, after the
//! operation. Operations on the tape are in no region: [`transpose`](crate::transpose) reads them, or [`forward`](crate::forward) inserts
//! them into the region.
//!
//! ## Invariants
//!
//! * An operation on the tape is jointly linear in the operands that are tangents, and has the semantics of its [kind](OpKind).
//!   Operations with regions of the program are recorded in [`Linear::nested`].
//! * The region computes the same as before: only pure operations were added.

mod bessel;
mod branches;
mod expand;
mod loops;
pub(crate) mod manual;
mod numbers;
mod offsets;
mod once;
mod powers;
mod rules;
pub(crate) mod window;

pub(crate) use numbers::number as number_of;
pub(crate) use rules::{collectives, compare};

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    DTypeClass, Diagnostic, EntityRef, FuncId, Insertions, Module, OpId, OpKind, PackedOption, RegionId,
    RegionKind, SecondaryMap, ValueId, ValueMap,
};
use smallvec::{SmallVec, smallvec};

use crate::checkpoint::Checkpoint;
use crate::custom::CustomRule;
use crate::emit::Emit;
use crate::linearize::offsets::Readers;
use crate::request::Request;

/// A linearized region.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    /// The operations that compute tangents, in order.
    pub(crate) ops: Vec<OpId>,
    /// For each operation in `ops`, the number of operations of the region that precede the point at which forward mode inserts it.
    pub(crate) places: Vec<usize>,
    /// The tangent of each value that the region returns; `None` if it is zero.
    pub(crate) returned: Vec<Option<ValueId>>,
}

/// State of the linearization of a function.
#[derive(Debug)]
pub(crate) struct Linear<'m> {
    pub(crate) module: &'m mut Module,
    /// If true, sharding constraints are not repeated on tangents.
    pub(crate) free_shardings: bool,
    /// The tangent of each value; `None` if it is zero.
    tangents: SecondaryMap<ValueId, PackedOption<ValueId>>,
    /// Whether a value is a tangent.
    is_tangent: SecondaryMap<ValueId, bool>,
    /// Custom derivative rules.
    pub(crate) rules: &'m [CustomRule],
    /// The checkpointing policy.
    pub(crate) checkpoint: &'m Checkpoint,
    /// Maps values to their copies while one operation or region is copied. Entries of earlier copies are stale.
    pub(crate) map: ValueMap,
    /// Operations on the tape that represent operations of the program with regions.
    pub(crate) nested: FxHashMap<OpId, Nested>,
    /// Stacked residuals that are kept in host memory.
    pub(crate) at_host: FxHashSet<ValueId>,
    /// Loops over blocks of iterations, which save only the initial state of each block.
    pub(crate) blocks: FxHashSet<OpId>,
    /// The operations of a region that are differentiated; its other operations need no tangents. `None` if all are differentiated.
    pub(crate) needed: Option<Needed>,
    /// The last channel ID of the program; `None` until it is needed.
    pub(crate) last_channel: Option<i64>,
    /// Pending insertions of operations, each before an existing operation of the program; `finish` applies them.
    pub(crate) insertions: Insertions,
    /// Maps each result of `geqrf` to the tangent of the orthogonal factor of its decomposition.
    pub(crate) orthogonal: FxHashMap<ValueId, ValueId>,
    /// The users of values; `None` until they are needed.
    readers: Option<Readers>,
}

/// The operations of a region on which certain values, such as its results, depend.
#[derive(Debug)]
pub(crate) struct Needed {
    region: RegionId,
    ops: FxHashSet<OpId>,
    /// The index of the first operation that was created after this analysis. That operation and all later operations count as needed.
    first_new: usize,
}

impl Needed {
    /// Finds the operations of a region that `values` depend on.
    pub(crate) fn of(module: &Module, region: RegionId, values: &[ValueId]) -> Needed {
        let local: FxHashSet<OpId> = module.regions[region].ops.iter().copied().collect();
        let mut ops = FxHashSet::default();
        let made = |value: ValueId| module.def_op(value).filter(|op| local.contains(op));
        let mut todo: Vec<OpId> = values.iter().filter_map(|&value| made(value)).collect();
        while let Some(op) = todo.pop() {
            if ops.insert(op) {
                let data = &module.ops[op];
                todo.extend(data.operands.iter().filter_map(|&value| made(value)));
                for inner in data.regions.iter().flat_map(|&region| module.walk(region)) {
                    todo.extend(module.ops[inner].operands.iter().filter_map(|&value| made(value)));
                }
            }
        }
        Needed { region, ops, first_new: module.ops.len() }
    }

    fn has(&self, region: RegionId, op: OpId) -> bool {
        region != self.region || op.index() >= self.first_new || self.ops.contains(&op)
    }
}

/// An operation of the program that one operation on a tape represents: an operation with regions, which have tapes of their own, or a call
/// with a custom gradient.
#[derive(Debug)]
pub(crate) enum Nested {
    /// One of several regions is executed.
    Branches {
        /// The operation of the program that the operation on the tape represents.
        op: OpId,
        /// The tape of each region. The tapes use tangents from outside of the regions directly, as captured values.
        tapes: Vec<Tape>,
    },
    /// A region is executed once.
    Once {
        /// The operation of the program that the operation on the tape represents.
        op: OpId,
        /// The tape, which reads the tangents of operands directly.
        tape: Tape,
    },
    /// A region is executed repeatedly.
    Loop(LoopTape),
    /// A region is executed on each device.
    Manual(ManualTape),
    /// A custom gradient function computes the cotangents of the operands.
    Given(Given),
}

/// A call whose gradient a function of the program computes.
#[derive(Debug)]
pub(crate) struct Given {
    /// The function that computes the gradient.
    pub(crate) backward: FuncId,
    /// The operands of the gradient function that precede the cotangents of the results.
    pub(crate) residuals: Vec<ValueId>,
    /// The tangent of each operand for which the function returns a cotangent; `None` if the tangent is zero.
    pub(crate) operands: Vec<Option<ValueId>>,
}

/// A linearized manual computation. The operation on the tape has tangents of the differentiable operands as operands, and tangents of all
/// results as results.
#[derive(Debug)]
pub(crate) struct ManualTape {
    /// The operation of the program that the operation on the tape represents.
    pub(crate) op: OpId,
    /// The indices of the differentiable operands of `op`.
    pub(crate) operands: Vec<usize>,
    /// For each operand in `operands`, the tangent of the body's argument.
    pub(crate) args: Vec<ValueId>,
    /// The tape of the body.
    pub(crate) tape: Tape,
}

/// A linearized loop. The operation on the tape has the tangents of the differentiable carried values as operands and results.
#[derive(Debug)]
pub(crate) struct LoopTape {
    /// The operation of the program that the operation on the tape represents.
    pub(crate) op: OpId,
    /// The trip count, if known.
    pub(crate) trips: Option<i64>,
    /// The indices of the differentiable carried values.
    pub(crate) carried: Vec<usize>,
    /// The tangent of each value in `carried` at the start of the body.
    pub(crate) args: Vec<ValueId>,
    /// The tangent of the initial value of each value in `carried`; `None` if it is zero.
    pub(crate) inits: Vec<Option<ValueId>>,
    /// The tape of the body, which returns the tangents of all carried values.
    pub(crate) tape: Tape,
}

impl<'m> Linear<'m> {
    pub(crate) fn new(module: &'m mut Module, request: &'m Request) -> Self {
        Linear {
            module,
            free_shardings: request.free_shardings,
            rules: &request.rules,
            checkpoint: &request.checkpoint,
            map: ValueMap::new(),
            tangents: SecondaryMap::new(),
            is_tangent: SecondaryMap::new(),
            nested: FxHashMap::default(),
            at_host: FxHashSet::default(),
            blocks: FxHashSet::default(),
            needed: None,
            last_channel: None,
            insertions: Insertions::default(),
            orthogonal: FxHashMap::default(),
            readers: None,
        }
    }

    /// The tangent of a value.
    pub(crate) fn tangent(&self, value: ValueId) -> Option<ValueId> {
        self.tangents[value].expand()
    }

    /// Whether some differentiable result of an operation has users.
    pub(crate) fn is_result_read(&mut self, op: OpId) -> bool {
        let module = &*self.module;
        self.readers.get_or_insert_with(|| Readers::of(module)).reads(module, op)
    }

    /// Whether the operations `by` are the only users of a value.
    pub(crate) fn is_read_only_by(&mut self, value: ValueId, by: &[OpId]) -> bool {
        let module = &*self.module;
        self.readers.get_or_insert_with(|| Readers::of(module)).reads_only(value, by)
    }

    /// The operations of the program that use a value.
    pub(crate) fn users(&mut self, value: ValueId) -> Vec<OpId> {
        let module = &*self.module;
        self.readers.get_or_insert_with(|| Readers::of(module)).users(value)
    }

    /// Whether the contributions of a value to the returned values cancel, except for rounding.
    pub(crate) fn cancels(&mut self, value: ValueId) -> bool {
        let module = &*self.module;
        self.readers.get_or_insert_with(|| Readers::of(module)).cancels(module, value)
    }

    /// Whether a value is a tangent: a value that is computed on a tape, or an input of a tape.
    pub(crate) fn is_tangent(&self, value: ValueId) -> bool {
        self.is_tangent[value]
    }

    /// Sets the tangent of `value`.
    pub(crate) fn set_tangent(&mut self, value: ValueId, tangent: ValueId) {
        self.tangents[value] = tangent.into();
        self.is_tangent[tangent] = true;
    }

    /// Linearizes a region whose differentiable arguments have tangents.
    ///
    /// # Errors
    /// Returns an error if an operation has no derivative.
    pub(crate) fn region(&mut self, region: RegionId) -> Result<Tape, Box<Diagnostic>> {
        let ops = self.module.regions[region].ops.clone();
        let mut primal = Vec::with_capacity(ops.len() + ops.len() / 2);
        let mut tape = Tape::default();
        // An expanded operation is visited again in its expanded form.
        let mut todo: Vec<OpId> = ops.iter().rev().copied().collect();
        while let Some(op) = todo.pop() {
            if matches!(self.module.ops[op].kind, OpKind::Return) {
                let returned = &self.module.ops[op].operands;
                tape.returned = returned.iter().map(|&v| self.tangent(v)).collect();
                primal.push(op);
                continue;
            }
            if self.needed.as_ref().is_some_and(|needed| !needed.has(region, op)) {
                primal.push(op);
                continue;
            }
            let changes = |v: &ValueId| self.tangent(*v).is_some();
            if !self.module.ops[op].operands.iter().any(changes) && self.captured(op).is_empty() {
                primal.push(op);
                continue;
            }
            let (at_op, first) = (primal.len(), tape.ops.len());
            primal.push(op);
            let mut at = At { linear: self, op, primal: &mut primal, tape: &mut tape.ops };
            let rule = rules::linearize(&mut at)?;
            if matches!(rule, Rule::Replaced(_)) {
                primal.remove(at_op);
            }
            match rule {
                Rule::Tangents(tangents) | Rule::Replaced(tangents) => {
                    for &op in &tape.ops[first..] {
                        for &result in &self.module.ops[op].results {
                            self.is_tangent[result] = true;
                        }
                    }
                    tape.places.resize(tape.ops.len(), primal.len());
                    let results = self.module.ops[op].results.clone();
                    for (&result, tangent) in results.iter().zip(tangents) {
                        if let Some(tangent) = tangent {
                            self.set_tangent(result, tangent);
                        }
                    }
                }
                Rule::Instead(values) => {
                    let results = self.module.ops[op].results.clone();
                    for (&old, &new) in results.iter().zip(&values) {
                        self.module.take_over(new, old);
                    }
                    let others: Vec<OpId> = primal.drain(at_op..).skip(1).collect();
                    todo.extend(others.into_iter().rev());
                }
            }
        }
        self.module.set_ops(region, primal);
        Ok(tape)
    }
}

impl Linear<'_> {
    /// The values with tangents that regions of an operation capture, each once, in order.
    pub(crate) fn captured(&self, op: OpId) -> Vec<ValueId> {
        let data = &self.module.ops[op];
        if matches!(data.kind.def().region_kind, RegionKind::None | RegionKind::Elements) {
            return Vec::new();
        }
        let mut seen = FxHashSet::default();
        let mut out = Vec::new();
        // Values that are defined inside of the regions have no tangent yet, so only captured values are found.
        for inner in data.regions.iter().flat_map(|&region| self.module.walk(region)) {
            for &value in &self.module.ops[inner].operands {
                if self.tangent(value).is_some() && seen.insert(value) {
                    out.push(value);
                }
            }
        }
        out
    }

    /// Applies the pending insertions in a region and in its nested regions.
    pub(crate) fn finish(&mut self, region: RegionId) {
        let insertions = std::mem::take(&mut self.insertions);
        insertions.apply(self.module, region, &ValueMap::new(), |_| false);
    }
}

/// The result of a differentiation rule.
#[derive(Debug)]
pub(crate) enum Rule {
    /// The operation stays. Contains the tangents of its results.
    Tangents(Tangents),
    /// The operation was removed, and operations of the rule compute its results. Contains the tangents of the results.
    Replaced(Tangents),
    /// The results of the operation must be replaced by these values, which are computed by operations that the rule inserted.
    Instead(Vec<ValueId>),
}

impl Rule {
    /// Returns the outcome for an operation with one result, whose tangent is `tangent`.
    pub(crate) fn one(tangent: ValueId) -> Rule {
        Rule::Tangents(smallvec![Some(tangent)])
    }

    /// Returns the outcome for an operation with `n` results that have no tangents.
    pub(crate) fn nothing(n: usize) -> Rule {
        Rule::Tangents(std::iter::repeat_n(None, n).collect())
    }
}

/// The tangent of each result of an operation; `None` if it is zero.
pub(crate) type Tangents = SmallVec<[Option<ValueId>; 1]>;

/// The operation that is linearized, and the lists to which its rule appends operations.
#[derive(Debug)]
pub(crate) struct At<'a, 'm> {
    pub(crate) linear: &'a mut Linear<'m>,
    pub(crate) op: OpId,
    primal: &'a mut Vec<OpId>,
    tape: &'a mut Vec<OpId>,
}

impl At<'_, '_> {
    /// Operand `i`.
    pub(crate) fn operand(&self, i: usize) -> ValueId {
        self.linear.module.ops[self.op].operands[i]
    }

    /// The first result.
    pub(crate) fn result(&self) -> ValueId {
        self.linear.module.ops[self.op].results[0]
    }

    /// Returns the tangent of operand `i`; `None` if the tangent is zero.
    pub(crate) fn tangent(&self, i: usize) -> Option<ValueId> {
        self.linear.tangent(self.operand(i))
    }

    pub(crate) fn num_operands(&self) -> usize {
        self.linear.module.ops[self.op].operands.len()
    }

    pub(crate) fn kind(&self) -> OpKind {
        self.linear.module.ops[self.op].kind.clone()
    }

    /// Returns an emitter that inserts operations into the region, after the linearized operation.
    pub(crate) fn primal(&mut self) -> Emit<'_> {
        Emit::new(self.linear.module, self.primal, self.op)
    }

    /// Puts an operation onto the tape if it uses tangents, and otherwise after the current operation.
    pub(crate) fn place(&mut self, op: OpId) {
        let data = &self.linear.module.ops[op];
        if data.operands.iter().any(|&v| self.linear.is_tangent(v)) {
            for &result in &self.linear.module.ops[op].results {
                self.linear.is_tangent[result] = true;
            }
            self.tape.push(op);
        } else {
            self.primal.push(op);
        }
    }

    /// Returns an emitter that appends operations to the tape.
    pub(crate) fn tape(&mut self) -> Emit<'_> {
        Emit::new(self.linear.module, self.tape, self.op)
    }

    /// Whether a value has a differentiable type.
    pub(crate) fn can_change(&self, value: ValueId) -> bool {
        let class = self.linear.module.tensor(value).map(|ty| ty.dtype.class());
        matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
    }

    /// Whether a value has a complex element type.
    pub(crate) fn is_complex(&self, value: ValueId) -> bool {
        self.linear.module.tensor(value).is_some_and(|ty| ty.dtype.class() == DTypeClass::Complex)
    }
}
