//! Facts about the arguments of a step that are known before roles are inferred.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, Diagnostic, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use super::dependence::{Arguments, Dependence, Through, is_float};
use super::next::{gradients, next_values};

/// Whether a program is a training step, or the part of one that computes gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trains {
    Yes,
    /// The program is only a forward pass: it returns no gradients, and may have no loss.
    No,
}

/// The data flow of an entry function without calls.
pub(super) struct Facts<'m> {
    pub(super) module: &'m Module,
    pub(super) func: FuncId,
    pub(super) body: RegionId,
    pub(super) args: &'m [ValueId],
    pub(super) returned: &'m [ValueId],
    /// For each state argument, the result that is its next value.
    pub(super) next: Vec<Option<usize>>,
    /// In a function without state, the result that is the gradient of each argument.
    pub(super) gradient: Vec<Option<usize>>,
    pub(super) loss: Option<usize>,
    /// For each state argument, the arguments that its next value depends on.
    pub(super) needs: Vec<Arguments>,
    /// The arguments that the loss depends on; if there is no loss, the arguments that any result depends on.
    pub(super) loss_needs: Arguments,
    /// Array arguments that are not state: data and frozen parameters.
    pub(super) given: Arguments,
    /// The arguments that each value depends on, and those that it depends on through floats.
    pub(super) all: Dependence<'m>,
    pub(super) floats: Dependence<'m>,
    /// Loops over full training steps: they carry state to its next value.
    pub(super) step_loops: FxHashSet<OpId>,
    users: FxHashMap<ValueId, Vec<OpId>>,
    /// The parent operation of each region except the body.
    pub(super) owner: FxHashMap<RegionId, OpId>,
    /// The operations in regions.
    pub(super) nested: FxHashSet<OpId>,
}

impl<'m> Facts<'m> {
    /// Returns the facts, without the loss.
    ///
    /// # Errors
    /// Returns SH1250 if there is no entry function.
    pub(super) fn of(module: &'m Module, trains: Trains) -> Result<Self, Diagnostic> {
        let none = || Diagnostic::invalid("SH1250", "the program has no function to train");
        let func = module.entry().ok_or_else(none)?;
        let body = module.funcs[func].body.ok_or_else(none)?;
        let args = module.regions[body].args.as_slice();
        let returned =
            module.terminator(body).map(|end| module.ops[end].operands.as_slice()).unwrap_or_default();
        let next = next_values(module, func, args, returned);
        let step_loops = step_loops(module, body, args, returned, &next);
        let all = Dependence::of_body(module, body, Through::Everything);
        let ones = args.iter().enumerate().map(|(i, &arg)| (arg, Arguments::one(i)));
        let floats = Dependence::with(module, body, Through::Floats, ones, step_loops.clone());
        let has_state = next.iter().any(Option::is_some);
        let gradient = match trains {
            Trains::Yes if !has_state => gradients(module, args, returned),
            _ => vec![None; args.len()],
        };
        let mut users: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
        let (mut owner, mut nested) = (FxHashMap::default(), FxHashSet::default());
        for op in module.walk(body) {
            let data = &module.ops[op];
            for &operand in &data.operands {
                users.entry(operand).or_default().push(op);
            }
            for &region in &data.regions {
                owner.insert(region, op);
                nested.extend(&module.regions[region].ops);
            }
        }
        let given = (0..args.len()).filter(|&i| next[i].is_none() && module.rank(args[i]) > 0);
        Ok(Facts {
            needs: next.iter().map(|r| r.map(|r| all.of(returned[r])).unwrap_or_default()).collect(),
            given: given.map(Arguments::one).fold(Arguments::default(), |sum, one| sum.union(&one)),
            loss_needs: Arguments::default(),
            module,
            func,
            body,
            args,
            returned,
            next,
            gradient,
            loss: None,
            all,
            floats,
            step_loops,
            users,
            owner,
            nested,
        })
    }

    pub(super) fn dtype(&self, i: usize) -> Option<DType> {
        self.module.stored(self.args[i]).map(|ty| ty.dtype)
    }

    pub(super) fn rank(&self, i: usize) -> usize {
        self.module.rank(self.args[i])
    }

    /// Returns whether an argument has a float or complex type and is therefore differentiable; complex parameters are trained too.
    pub(super) fn is_float(&self, i: usize) -> bool {
        is_float(self.module, self.args[i])
    }

    /// Returns whether an argument looks like an RNG key: a few unsigned words.
    pub(super) fn is_key(&self, i: usize) -> bool {
        let shape = self.module.shape(self.args[i]);
        self.dtype(i) == Some(DType::UI32) && matches!(shape.last(), Some(2 | 4))
    }

    /// Returns the next value of a state argument.
    pub(super) fn next_value(&self, i: usize) -> Option<ValueId> {
        self.next[i].map(|result| self.returned[result])
    }

    /// Returns the users of a value, including those in regions.
    pub(super) fn users(&self, value: ValueId) -> &[OpId] {
        self.users.get(&value).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Finds the loops that carry state to its next value.
fn step_loops(
    module: &Module,
    body: RegionId,
    args: &[ValueId],
    returned: &[ValueId],
    next: &[Option<usize>],
) -> FxHashSet<OpId> {
    let states: FxHashSet<(ValueId, ValueId)> =
        args.iter().zip(next).filter_map(|(&arg, next)| Some((arg, returned[(*next)?]))).collect();
    let carries_state = |op: &OpId| {
        let data = &module.ops[*op];
        let mut carried = data.operands.iter().zip(&data.results);
        matches!(data.kind, OpKind::While) && carried.any(|(&init, &result)| states.contains(&(init, result)))
    };
    module.regions[body].ops.iter().copied().filter(carries_state).collect()
}
