//! Finds the losses among the results, and the values that they depend on.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{OpId, ValueId};

use super::dependence::{Arguments, Dependence, Through, forward_of, is_number};
use super::facts::Facts;
use super::state::trained_by;

/// The result that is the loss: a floating-point scalar that is not state, trains some state, and depends on the most data of those
/// that do. Among several, one named as a loss wins; otherwise the first computed, unless another trains more than twice as much.
///
/// The norm of an update depends on more state than the loss, and also on tables of rates, but trains nothing. If no result trains
/// state, as in a function that returns gradients, the state that a result depends on is counted instead.
///
/// `moved` tells for each argument whether it is state or has a gradient.
pub(super) fn loss(facts: &Facts<'_>, moved: &[bool]) -> Option<usize> {
    let Facts { module, returned, .. } = facts;
    let func = &module.funcs[facts.func];
    let is_called = |i: usize| func.result_name(i).is_some_and(|name| name.to_lowercase().contains("loss"));
    // Numbers of operations do not give the order: inlined operations have later numbers than their users.
    let order: FxHashMap<OpId, usize> =
        module.regions[facts.body].ops.iter().enumerate().map(|(at, &op)| (op, at)).collect();
    let made = |i: usize| module.def_op(returned[i]).and_then(|op| order.get(&op));
    // Scalars are rates and temperatures, or their moments, which a next temperature depends on.
    let is_data = |a: usize| !moved[a] && facts.rank(a) > 0;
    let data = |i: usize| facts.all.of(returned[i]).iter().filter(|&a| is_data(a)).count();
    let moves_with = |i: usize| facts.floats.of(returned[i]).iter().filter(|&a| moved[a]).count();
    let mut candidates: Vec<Candidate> = (0..returned.len())
        .filter(|&i| is_number(module, returned[i]) && !facts.next.contains(&Some(i)))
        .map(|i| Candidate { result: i, data: data(i), state: moves_with(i) })
        .filter(|candidate| candidate.state > 0)
        .collect();
    candidates.sort_by_key(|c| (Reverse(c.data), !is_called(c.result), made(c.result)));
    if let [only] = candidates.as_slice() {
        return Some(only.result);
    }
    let trains = |c: &Candidate| Candidate { state: trained_by(facts, returned[c.result]), ..*c };
    let first = first_of_most(candidates.iter().copied(), trains);
    first.or_else(|| first_of_most(candidates.iter().copied(), |c| *c)).map(|c| c.result)
}

/// A scalar that may be the loss.
#[derive(Clone, Copy)]
struct Candidate {
    result: usize,
    /// The number of data arguments that it depends on.
    data: usize,
    /// The number of state arguments that it depends on, or trains.
    state: usize,
}

/// The first candidate with the most data, unless another one with as much data has more than twice the state. `measured` computes
/// the state of a candidate, at most its upper bound; candidates that cannot win are not measured.
fn first_of_most(
    candidates: impl Iterator<Item = Candidate>,
    measured: impl Fn(&Candidate) -> Candidate,
) -> Option<Candidate> {
    candidates.fold(None, |best: Option<Candidate>, candidate| {
        let is_better =
            |c: &Candidate| best.is_none_or(|best| c.data == best.data && c.state > 2 * best.state);
        let better = Some(candidate).filter(is_better).map(|c| measured(&c));
        better.filter(|c| c.state > 0 && is_better(c)).or(best)
    })
}

/// The forward pass of a step, which ends with a loss.
pub(super) struct Forward<'m> {
    /// The arguments that the loss depends on through floats.
    pub(super) moves_with: Arguments,
    /// The values that the loss depends on through floats: the paths of its derivatives.
    pub(super) values: FxHashSet<ValueId>,
    /// The sets of arguments that its arrays depend on through floats, except arrays computed from scalars.
    arrays: FxHashSet<Arguments>,
    /// For each value the arguments that it depends on through `values` that depend on them: gradients need such values, statistics
    /// do not.
    beyond: Dependence<'m>,
}

impl<'m> Forward<'m> {
    /// The forward pass of a loss, or of several results.
    pub(super) fn of(facts: &Facts<'m>, losses: &[ValueId]) -> Self {
        let (mut moves_with, mut values) = (Arguments::default(), FxHashSet::default());
        for &loss in losses {
            moves_with.add(&facts.floats.of(loss));
            values.extend(forward_of(facts.module, &facts.owner, loss, &facts.step_loops));
        }
        let args: FxHashSet<ValueId> = facts.args.iter().copied().collect();
        let moved = values.iter().filter(|value| !args.contains(value)).map(|&v| (v, facts.floats.of(v)));
        // Losses are added as scalars, and may be stacked first.
        let is_array = |value: ValueId| facts.module.rank(value) > 0;
        let moves = |value: ValueId| !args.contains(&value) && !facts.floats.of(value).is_empty();
        let numbers = values.iter().filter(|&&value| !is_array(value) && moves(value));
        let numbers = numbers.map(|&number| (number, Arguments::one(0)));
        let behind =
            Dependence::with(facts.module, facts.body, Through::Floats, numbers, facts.step_loops.clone());
        let arrays = values.iter().filter(|&&value| is_array(value) && behind.of(value).is_empty());
        let arrays = arrays.map(|&value| facts.floats.of(value)).collect();
        let beyond =
            Dependence::with(facts.module, facts.body, Through::Everything, moved, FxHashSet::default());
        Forward { moves_with, values, arrays, beyond }
    }

    /// The arguments that a value depends on through other values of the forward pass.
    pub(super) fn beyond(&self, value: ValueId) -> Arguments {
        self.beyond.of(value)
    }

    /// The arguments on which some array of the forward pass depends together with argument `i`, before losses are summed.
    pub(super) fn joined(&self, i: usize) -> Arguments {
        let with = self.arrays.iter().filter(|arguments| arguments.contains(i));
        with.fold(Arguments::default(), |sum, arguments| sum.union(arguments))
    }
}
