//! The values that a loss depends on.

use rustc_hash::FxHashSet;
use shardc_ir::ValueId;

use super::dependence::{Arguments, Dependence, Through, forward_of};
use super::facts::Facts;

/// The forward pass of a step, which ends with a loss.
pub(super) struct Forward<'m> {
    /// The arguments that the loss depends on through floats.
    pub(super) moves_with: Arguments,
    /// The values that the loss depends on through floats: the paths of its derivatives.
    pub(super) values: FxHashSet<ValueId>,
    /// The sets of arguments that arrays of the forward pass depend on through floats. Arrays that depend on a computed scalar are
    /// excluded.
    arrays: FxHashSet<Arguments>,
    /// For each value, the arguments that it depends on through a computed value of the forward pass (in `values`) that itself depends
    /// on the argument through floats. The gradient of a parameter depends on the parameter in this way. A running statistic depends
    /// on its old value only directly.
    beyond: Dependence<'m>,
}

impl<'m> Forward<'m> {
    /// Computes the forward pass of a loss, or of several results.
    pub(super) fn of(facts: &Facts<'m>, losses: &[ValueId]) -> Self {
        let (mut moves_with, mut values) = (Arguments::default(), FxHashSet::default());
        for &loss in losses {
            moves_with.add(&facts.floats.of(loss));
            values.extend(forward_of(facts.module, &facts.owner, loss, &facts.step_loops));
        }
        let args: FxHashSet<ValueId> = facts.args.iter().copied().collect();
        let moved = values.iter().filter(|value| !args.contains(value)).map(|&v| (v, facts.floats.of(v)));
        // Several losses are summed as scalars, which may be stacked into an array first. Arrays that depend on such scalars are
        // excluded.
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

    /// Returns the arguments that a value depends on through computed values of the forward pass.
    pub(super) fn beyond(&self, value: ValueId) -> Arguments {
        self.beyond.of(value)
    }

    /// Returns the union of the sets in `arrays` that contain argument `i`: the arguments that occur together with `i` in an array of
    /// the forward pass.
    pub(super) fn joined(&self, i: usize) -> Arguments {
        let with = self.arrays.iter().filter(|arguments| arguments.contains(i));
        with.fold(Arguments::default(), |sum, arguments| sum.union(arguments))
    }
}
