//! Data flow between an operation, its regions and its results.
//!
//! All values that hold the same loop-carried data share one sharding: the result of the `while` and the arguments of both regions. The
//! result is the *owner* and holds the sharding. The incoming values (the operand, and the value that the body returns) are the
//! *sources*. Results of `case`, `if` and `optimization_barrier`, and arguments and results of a manual or named computation, are owners in
//! the same way.

use shardc_ir::{FuncId, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ValueDef, ValueId};
use smallvec::SmallVec;

/// The parent operation of each region, and the region of each operation.
#[derive(Debug, Default)]
pub(super) struct Parents {
    of_region: SecondaryMap<RegionId, PackedOption<OpId>>,
    of_op: SecondaryMap<OpId, PackedOption<RegionId>>,
    /// For each region that is the body of a function, that function.
    func: SecondaryMap<RegionId, PackedOption<FuncId>>,
}

/// Tells which value stores the sharding of a value: values with the same data share one sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The value itself.
    Own,
    /// Another value: the one that holds the sharding of all values with the same data, such as the result of a `while` for its carried
    /// value.
    Flow(ValueId),
    /// No value: the value is an argument of a reduction or comparison region.
    None,
}

impl Parents {
    /// Indexes all operations and regions in a function body.
    pub(super) fn new(module: &Module, body: RegionId) -> Self {
        let mut out = Parents::default();
        out.add(module, body);
        out
    }

    /// Indexes all operations and regions in a module.
    pub(super) fn of_module(module: &Module) -> Self {
        let mut out = Parents::default();
        for (id, func) in &module.funcs {
            if let Some(body) = func.body {
                out.func[body] = id.into();
                out.add(module, body);
            }
        }
        out
    }

    fn add(&mut self, module: &Module, body: RegionId) {
        let mut stack = vec![body];
        while let Some(region) = stack.pop() {
            for &op in &module.regions[region].ops {
                self.of_op[op] = region.into();
                for &nested in &module.ops[op].regions {
                    self.of_region[nested] = op.into();
                    stack.push(nested);
                }
            }
        }
    }

    /// Returns the function whose body a region is; `None` for other regions, and if only one function is indexed.
    pub(super) fn func(&self, region: RegionId) -> Option<FuncId> {
        self.func[region].expand()
    }

    /// Returns the parent operation of a region.
    pub(super) fn parent(&self, region: RegionId) -> Option<OpId> {
        self.of_region[region].expand()
    }

    /// Returns the region that an operation is in.
    pub(super) fn region(&self, op: OpId) -> Option<RegionId> {
        self.of_op[op].expand()
    }

    /// Returns which value stores the sharding of `value`.
    pub(super) fn holder(&self, module: &Module, value: ValueId) -> Holder {
        match module.values[value].def() {
            ValueDef::Result(op, _) => {
                if owns_results(&module.ops[op].kind) {
                    Holder::Flow(value)
                } else {
                    Holder::Own
                }
            }
            ValueDef::Arg(region, i) => match self.parent(region) {
                None => Holder::Own,
                Some(op) => match &module.ops[op].kind {
                    OpKind::While => {
                        module.ops[op].results.get(i as usize).map_or(Holder::None, |&v| Holder::Flow(v))
                    }
                    kind if owns_args(kind) => Holder::Flow(value),
                    _ => Holder::None,
                },
            },
        }
    }

    /// Returns the value that operand `i` of `op` flows into: a result, or an argument of a region. `None` if `op` only computes with the
    /// operand.
    pub(super) fn sink(&self, module: &Module, op: OpId, i: usize) -> Option<ValueId> {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::While | OpKind::OptimizationBarrier => data.results.get(i).copied(),
            kind if owns_args(kind) => module.regions[*data.regions.first()?].args.get(i).copied(),
            OpKind::Return => {
                let region = self.region(op)?;
                let parent = &module.ops[self.parent(region)?];
                let returns = match parent.kind {
                    // The first region of a `while` is its condition: it returns a predicate, which does not flow to any value.
                    OpKind::While => parent.regions.get(1) == Some(&region),
                    ref kind => owns_results(kind),
                };
                if returns { parent.results.get(i).copied() } else { None }
            }
            _ => None,
        }
    }
}

/// Whether data flows directly into the results of an operation, from its operands or from the values that its regions return.
pub(super) fn owns_results(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::While
            | OpKind::Case
            | OpKind::If
            | OpKind::OptimizationBarrier
            | OpKind::ManualComputation(_)
            | OpKind::NamedComputation(_)
    )
}

/// Whether operands flow into the arguments of an operation's region, and each argument has its own sharding.
pub(super) fn owns_args(kind: &OpKind) -> bool {
    matches!(kind, OpKind::ManualComputation(_) | OpKind::NamedComputation(_))
}

/// Returns the values that flow into result `i` of an operation for which [`owns_results`] holds.
pub(super) fn result_sources(module: &Module, op: OpId, i: usize) -> SmallVec<[ValueId; 4]> {
    let data = &module.ops[op];
    let returned =
        |region: RegionId| module.terminator(region).and_then(|ret| module.ops[ret].operands.get(i).copied());
    match data.kind {
        OpKind::While => data
            .operands
            .get(i)
            .copied()
            .into_iter()
            .chain(data.regions.get(1).and_then(|&r| returned(r)))
            .collect(),
        OpKind::OptimizationBarrier => data.operands.get(i).copied().into_iter().collect(),
        OpKind::Case | OpKind::If | OpKind::ManualComputation(_) | OpKind::NamedComputation(_) => {
            data.regions.iter().filter_map(|&r| returned(r)).collect()
        }
        _ => SmallVec::new(),
    }
}

/// Returns the region arguments that share the sharding of result `i` of a `while`.
pub(super) fn while_args(module: &Module, op: OpId, i: usize) -> SmallVec<[ValueId; 2]> {
    let data = &module.ops[op];
    match data.kind {
        OpKind::While => {
            data.regions.iter().filter_map(|&r| module.regions[r].args.get(i).copied()).collect()
        }
        _ => SmallVec::new(),
    }
}
