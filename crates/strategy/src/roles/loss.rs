//! Losses: which result is one, and what it is computed by.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{OpId, ValueId};

use super::dependence::{Arguments, Dependence, Through, forward_of, is_number};
use super::facts::Facts;
use super::state::trained_by;

/// The result that is the loss: one number of floats that is no state, that trains some, and is computed from as much data as any that
/// does. Of several, one that is called so, or else the one that is computed first, unless another trains more than twice as much.
///
/// The norm of an update moves with more than the loss does, is computed from tables of rates too, and trains nothing. Where none trains,
/// as where gradients are returned, what is moved with counts.
///
/// `moved` says of each argument whether it is state, or what there is a gradient by.
pub(super) fn loss(facts: &Facts<'_>, moved: &[bool]) -> Option<usize> {
    let Facts { module, returned, .. } = facts;
    let func = &module.funcs[facts.func];
    let is_called = |i: usize| func.result_name(i).is_some_and(|name| name.to_lowercase().contains("loss"));
    // Not by their numbers: what was a call has later ones than what is behind it.
    let order: FxHashMap<OpId, usize> =
        module.regions[facts.body].ops.iter().enumerate().map(|(at, &op)| (op, at)).collect();
    let made = |i: usize| module.def_op(returned[i]).and_then(|op| order.get(&op));
    // Numbers are rates and temperatures, or their moments, which a next temperature is computed from.
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

/// A number that may be the loss.
#[derive(Clone, Copy)]
struct Candidate {
    result: usize,
    /// How much data it is computed from.
    data: usize,
    /// How much state it moves with, or trains.
    state: usize,
}

/// The first of the most data, unless another one of as much has more than twice the state. `measured` gives each candidate its state, which
/// is no more than it has; what cannot come into question is not measured.
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

/// The forward part of a step, which ends with a loss.
pub(super) struct Forward<'m> {
    /// The arguments on whose floats the loss depends by way of floats.
    pub(super) moves_with: Arguments,
    /// What the loss is computed from by way of floats: what a derivative of it may go along.
    pub(super) values: FxHashSet<ValueId>,
    /// The sets of arguments with which its arrays move, but for those that are computed from single numbers.
    arrays: FxHashSet<Arguments>,
    /// For each value the arguments that it depends on by way of `values` which move with them: a gradient needs such values, of
    /// which statistics have none.
    beyond: Dependence<'m>,
}

impl<'m> Forward<'m> {
    /// The forward part of a loss, or of several results.
    pub(super) fn of(facts: &Facts<'m>, losses: &[ValueId]) -> Self {
        let (mut moves_with, mut values) = (Arguments::default(), FxHashSet::default());
        for &loss in losses {
            moves_with.add(&facts.floats.of(loss));
            values.extend(forward_of(facts.module, &facts.owner, loss, &facts.step_loops));
        }
        let args: FxHashSet<ValueId> = facts.args.iter().copied().collect();
        let moved = values.iter().filter(|value| !args.contains(value)).map(|&v| (v, facts.floats.of(v)));
        // Losses add up as numbers, and may be stacked before.
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

    /// The arguments that a value depends on by way of other values of the forward part.
    pub(super) fn beyond(&self, value: ValueId) -> Arguments {
        self.beyond.of(value)
    }

    /// The arguments that some array moves with as it does with argument `i`, before losses add up.
    pub(super) fn joined(&self, i: usize) -> Arguments {
        let with = self.arrays.iter().filter(|arguments| arguments.contains(i));
        with.fold(Arguments::default(), |sum, arguments| sum.union(arguments))
    }
}
