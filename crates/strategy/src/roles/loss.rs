//! Finds the loss among the results.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, OpId};

use super::RoleOverrides;
use super::dependence::is_number;
use super::facts::{Facts, Trains};
use super::state::trained_by;

/// Records the loss in the facts: the result that the user names, or else the inferred one.
///
/// # Errors
/// Returns SH1250 if no result is a loss and the user names no parameters.
pub(super) fn note_loss(
    facts: &mut Facts<'_>,
    overrides: &RoleOverrides,
    trains: Trains,
) -> Result<(), Diagnostic> {
    // A loss is recognized by the state, or the arguments with gradients, that it depends on.
    let moved: Vec<bool> =
        facts.next.iter().zip(&facts.gradient).map(|(n, g)| n.is_some() || g.is_some()).collect();
    let returned = facts.returned;
    facts.loss = overrides.loss.filter(|&i| i < returned.len()).or_else(|| loss(facts, &moved));
    let says_parameters = overrides.roles.iter().any(|(_, role)| role.is_weight());
    if facts.loss.is_none() && !says_parameters && trains == Trains::Yes {
        let message = "no result of the program is a floating-point scalar that depends on its arguments";
        let hint = "a training step returns its loss; name the result that is the loss, or the parameters";
        return Err(Diagnostic::invalid("SH1250", message).hint(hint));
    }
    for &value in facts.loss.map_or(returned, |loss| &returned[loss..=loss]) {
        facts.loss_needs.add(&facts.all.of(value));
    }
    Ok(())
}

/// Infers the loss: a floating-point scalar that is not state and trains some state. Among such results, those that depend on the most data
/// arguments are candidates. A candidate whose name contains `loss` takes precedence, then the candidate that is computed first, unless
/// another one trains more than twice as many state arguments.
///
/// The norm of an update depends on more state than the loss, and also on tables of rates, but trains nothing. If no result trains
/// state, as in a function that returns gradients, the state that a result depends on is counted instead.
///
/// `moved` contains for each argument whether it is state or has a gradient.
fn loss(facts: &Facts<'_>, moved: &[bool]) -> Option<usize> {
    let Facts { module, returned, .. } = facts;
    let func = &module.funcs[facts.func];
    let is_called = |i: usize| func.result_name(i).is_some_and(|name| name.to_lowercase().contains("loss"));
    // Operation ids are not in program order: inlined operations have higher ids than their users.
    let order: FxHashMap<OpId, usize> =
        module.regions[facts.body].ops.iter().enumerate().map(|(at, &op)| (op, at)).collect();
    let made = |i: usize| module.def_op(returned[i]).and_then(|op| order.get(&op));
    // Scalars are not data: they are rates and temperatures, or moments on which the next temperature depends.
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
    /// The number of data arguments that the scalar depends on.
    data: usize,
    /// The number of state arguments that the scalar depends on, or trains.
    state: usize,
}

/// Returns the first candidate with the most data, unless another candidate with as much data has a `state` more than twice as large.
/// `measured` replaces `state`, an upper bound, by the exact number; candidates that cannot win are not measured.
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
