//! Loops whose trip count is not known, by induction.
//!
//! Each carried value that changes is assumed to be a view of a global state, and the condition and the body are evaluated on these
//! states. If the body returns views with the same indices, and if all devices have the same condition, the loop is a loop on the states:
//! a node whose arguments are the condition, the initial states and the next states. Equal nodes are equal loops. An assumption that does
//! not hold is replaced by what the body returned, a few times.

use rustc_hash::FxHashSet;
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

use super::{Eval, OrStop, Stop};
use crate::terms::{CORE, Digit, Digits, FRESH, Kind, Op, View, push};

/// The most assumptions about the indices of a loop.
const MOST_ATTEMPTS: usize = 8;
/// The most dimensions of a state.
const MOST_DIMS: usize = 8;
/// The most states of a loop.
const MOST_STATES: usize = ((FRESH - CORE) as usize) / MOST_DIMS;

/// A carried value that changes.
struct State {
    /// Its position among the carried values.
    at: usize,
    kind: Kind,
    start: View,
    /// The index in each dimension of the state.
    index: SmallVec<[Digits; 3]>,
}

/// The values that some operation uses.
fn used(module: &Module) -> FxHashSet<ValueId> {
    module.ops.values().flat_map(|data| data.operands.iter().copied()).collect()
}

/// The arguments of a region on which values of it depend.
fn needed(module: &Module, region: RegionId, roots: impl Iterator<Item = ValueId>) -> Vec<bool> {
    let mut wanted: FxHashSet<ValueId> = roots.collect();
    for &op in module.regions[region].ops.iter().rev() {
        let data = &module.ops[op];
        let is_wanted = data.results.iter().any(|result| wanted.contains(result));
        if is_wanted && !matches!(data.kind, OpKind::Return) {
            wanted.extend(&data.operands);
            for &inner in &data.regions {
                wanted.extend(
                    module.walk(inner).into_iter().flat_map(|op| module.ops[op].operands.iter().copied()),
                );
            }
        }
    }
    module.regions[region].args.iter().map(|arg| wanted.contains(arg)).collect()
}

/// The values that a region returns.
fn returned(module: &Module, region: RegionId) -> &[ValueId] {
    module.regions[region].ops.last().map_or(&[], |&op| &module.ops[op].operands)
}

/// Whether each carried value has an effect on a result that is used.
fn live(module: &Module, op: OpId, condition: RegionId, body: RegionId) -> Vec<bool> {
    let used = used(module);
    let next = returned(module, body);
    let mut live = needed(module, condition, returned(module, condition).iter().copied());
    for (is_live, result) in live.iter_mut().zip(&module.ops[op].results) {
        *is_live |= used.contains(result);
    }
    loop {
        let roots = next.iter().zip(&live).filter(|(_, is_live)| **is_live).map(|(&value, _)| value);
        let more = needed(module, body, roots);
        let all: Vec<bool> = live.iter().zip(&more).map(|(a, b)| *a || *b).collect();
        if all == live {
            return live;
        }
        live = all;
    }
}

/// A view as a function of slots `first`, `first + 1` and so on, of which it has the positions in `index`.
pub(super) fn as_state(view: &View, index: &[Digits], first: u32) -> Option<View> {
    let mut found = View { term: view.term, index: SmallVec::new() };
    for number in &view.index {
        let mut new = Digits::new();
        for digit in number {
            // The digit from major to minor, in parts of digits of the index.
            let mut high = digit.end();
            while high > digit.stride {
                let part = part_of(index, digit.slot, high, digit.stride, first)?;
                high /= part.size;
                push(&mut new, part);
            }
        }
        found.index.push(new);
    }
    Some(found)
}

/// The most major part of the digit of a slot between two strides, as a digit of a dimension of the index.
fn part_of(index: &[Digits], slot: u32, high: u64, low: u64, first: u32) -> Option<Digit> {
    for (at, number) in (0u32..).zip(index) {
        let mut weight = 1;
        for digit in number.iter().rev() {
            if digit.slot == slot && digit.stride < high && high <= digit.end() {
                let start = low.max(digit.stride);
                let fits = start.is_multiple_of(digit.stride)
                    && high.is_multiple_of(start)
                    && digit.end().is_multiple_of(high);
                let stride = weight * (start / digit.stride);
                return fits.then_some(Digit { slot: first + at, stride, size: high / start });
            }
            weight *= digit.size;
        }
    }
    None
}

impl Eval<'_, '_> {
    pub(super) fn induction(
        &mut self,
        op: OpId,
        condition: RegionId,
        body: RegionId,
    ) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let carried = self.operands(op)?;
        let (live, next) = (live(module, op, condition, body), returned(module, body));
        let args = &module.regions[body].args;
        let mut states: Vec<State> = Vec::new();
        for (at, start) in carried.iter().enumerate() {
            if live[at] && next.get(at) != args.get(at) {
                let kind = self.kind(module.ops[op].results[at]);
                states.push(State { at, kind, start: start.clone(), index: start.index.clone() });
            }
        }
        if states.len() > MOST_STATES {
            return Stop::rule("a loop with many carried values");
        }
        let saved = (self.status.clone(), self.matched.clone());
        for _ in 0..MOST_ATTEMPTS {
            (self.status, self.matched) = saved.clone();
            self.loops += 1;
            let found = self.iterate(condition, body, &carried, &states);
            self.loops -= 1;
            let (test, next) = found?;
            let mut is_stable = true;
            for state in &mut states {
                let Some(view) = next.get(state.at) else { return Stop::rule("a loop without a result") };
                if as_state(view, &state.index, CORE).is_none() {
                    state.index = view.index.clone();
                    is_stable = false;
                }
            }
            if is_stable {
                return self.loop_results(op, &carried, &states, &test, &next);
            }
        }
        Stop::rule("a loop whose trip count and carried blocks are not known")
    }

    /// The condition and the next carried values, as functions of the states.
    fn iterate(
        &mut self,
        condition: RegionId,
        body: RegionId,
        carried: &[View],
        states: &[State],
    ) -> Result<(View, Vec<View>), Stop> {
        let mut views = carried.to_vec();
        for (number, state) in states.iter().enumerate() {
            let leaf = Op::State([self.loops, number as u32]);
            views[state.at] = self.terms.leaf(leaf, state.kind, state.index.iter().cloned());
        }
        let test = self.region(condition, views.clone())?;
        let next = self.region(body, views)?;
        match test.into_iter().next() {
            Some(test) => Ok((test, next)),
            None => Stop::rule("a loop without a condition"),
        }
    }

    /// The results of a loop on states. Carried values that do not change are their initial values.
    fn loop_results(
        &mut self,
        op: OpId,
        carried: &[View],
        states: &[State],
        test: &View,
        next: &[View],
    ) -> Result<Vec<View>, Stop> {
        if !test.index.is_empty() {
            return Stop::rule("a loop whose condition may differ between devices");
        }
        let mut args = vec![test.clone()];
        for (number, state) in states.iter().enumerate() {
            let first = CORE + (number * MOST_DIMS) as u32;
            if state.index.len() > MOST_DIMS {
                return Stop::rule("a loop with a value of many dimensions");
            }
            for view in [&state.start, &next[state.at]] {
                match as_state(view, &state.index, first) {
                    Some(view) => args.push(view),
                    None => return Stop::rule("a loop whose first iteration has other blocks"),
                }
            }
        }
        let mut results = carried.to_vec();
        for (at, &value) in self.module.ops[op].results.iter().enumerate() {
            match states.iter().position(|state| state.at == at) {
                Some(number) => {
                    let state = &states[number];
                    let node = Op::Loop(number as u32);
                    results[at] = self.terms.build(node, state.kind, &args, &[], &state.index).or_stop()?;
                }
                // A value that nothing uses may change.
                None if next.get(at) != Some(&carried[at]) => results[at] = self.unknown_value(value),
                None => {}
            }
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{DEVICE, TermId};

    fn number(digits: &[Digit]) -> Digits {
        let mut number = Digits::new();
        digits.iter().for_each(|&digit| push(&mut number, digit));
        number
    }

    #[test]
    fn positions_are_those_of_the_state() {
        // A dimension of 24 positions in 4 blocks, of which the device has the number.
        let device = Digit { slot: DEVICE, stride: 2, size: 4 };
        let index = [number(&[device, Digit::all(0, 6)]), number(&[Digit::all(1, 5)])];
        let view = |digits: &[&[Digit]]| View {
            term: TermId(0),
            index: digits.iter().map(|digits| number(digits)).collect(),
        };
        let state = |digits: &[&[Digit]]| as_state(&view(digits), &index, 7);
        let found = state(&[&[Digit::all(1, 5)], &[device, Digit::all(0, 6)]]);
        assert_eq!(found, Some(view(&[&[Digit::all(8, 5)], &[Digit::all(7, 24)]])));
        let parts =
            state(&[&[Digit { slot: 0, stride: 2, size: 3 }], &[Digit { slot: DEVICE, stride: 4, size: 2 }]]);
        let wanted =
            view(&[&[Digit { slot: 7, stride: 2, size: 3 }], &[Digit { slot: 7, stride: 12, size: 2 }]]);
        assert_eq!(parts, Some(wanted));
        assert_eq!(state(&[&[Digit { slot: DEVICE, stride: 1, size: 8 }]]), None, "not a digit of the state");
        assert_eq!(state(&[&[Digit::all(2, 3)]]), None, "another dimension");
    }
}
