//! Finds redundant sharding constraints: without them, propagation assigns every value the same sharding.
//!
//! Constraints with the same source location are kept or removed together. The search first removes all constraints at once. If that
//! changes a sharding, it tries each half separately, and so on recursively; constraints that were already found to be redundant stay
//! removed. All reported constraints can therefore be removed together. If few constraints have an effect, the number of propagations is
//! logarithmic. After [`LintOptions::max_trials`](super::LintOptions::max_trials) propagations, the search stops with a note.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Class, Diagnostic, Module, OpId, OpKind, Rewriter, ShardingId, ShardingTable, Span, TypeId, ValueId,
};

use super::subject::{Subject, count};
use crate::driver::strategy::{Strategy, prioritize};
use crate::propagate::{PropagateOptions, propagate};

/// Returns warnings about constraints without effect, and a note if not all constraints were tried. `wanted` is the sharding of each value
/// with all constraints present.
pub(super) fn constraints(
    subject: &Subject<'_>,
    strategy: Strategy,
    wanted: &ShardingTable,
) -> (Vec<Diagnostic>, Option<String>) {
    let base = subject.base;
    let mut places: IndexMap<ConstraintSite, Vec<OpId>> = IndexMap::new();
    let ops = base.walk(subject.body);
    for &op in &ops {
        let (OpKind::ShardingConstraint(sharding), Some(&input)) =
            (&base.ops[op].kind, base.ops[op].operands.first())
        else {
            continue;
        };
        let place = match base.user_loc(op) {
            Some(loc) => ConstraintSite::User(loc),
            None => ConstraintSite::Kind(base.values[input].ty, *sharding),
        };
        places.entry(place).or_default().push(op);
    }
    // Two kinds of constraints are skipped: those that change the sharding of their value have an effect, and those without axes and
    // without closed dimensions are not meant to have one.
    places.retain(|_, ops| {
        ops.iter().all(|&op| {
            let data = &base.ops[op];
            if !says_something(base, op) {
                return false;
            }
            let side = |value: &ValueId| wanted.sharding_of(*value);
            match (data.operands.first().and_then(side), data.results.first().and_then(side)) {
                (Some(before), Some(after)) => before.same_placement(after),
                _ => false,
            }
        })
    });
    let places: Vec<Vec<OpId>> = places.into_values().collect();
    if places.is_empty() {
        return (Vec::new(), None);
    }
    let values = compared(subject, &ops);
    let mut search = Search {
        subject,
        strategy,
        wanted,
        values,
        trials: subject.options.max_trials,
        redundant: Vec::new(),
        untried: 0,
    };
    search.narrow(&places, false);
    let note = (search.untried > 0).then(|| {
        format!(
            "the sharding constraints at {} were not checked by annotation-without-effect: that would take more than {} propagations",
            count(search.untried, "source location"),
            subject.options.max_trials
        )
    });
    // Constraints without a source location are grouped into one finding if their texts are equal.
    let mut reported: IndexMap<String, Vec<OpId>> = IndexMap::new();
    for ops in search.redundant {
        let key = base.user_loc(ops[0]).unwrap_or_else(|| text(base, ops[0]));
        reported.entry(key).or_default().extend(ops);
    }
    reported.values_mut().for_each(|ops| ops.sort_unstable());
    (reported.values().map(|ops| finding(subject, ops, reported.len())).collect(), note)
}

/// Whether a constraint shards or closes a dimension of its value.
fn says_something(base: &Module, op: OpId) -> bool {
    match &base.ops[op].kind {
        OpKind::ShardingConstraint(id) => {
            base.shardings.get(*id).dims.iter().any(|d| !d.open || !d.axes.is_empty())
        }
        _ => false,
    }
}

/// Returns the sharding of a constraint as text.
fn text(base: &Module, op: OpId) -> String {
    match &base.ops[op].kind {
        OpKind::ShardingConstraint(id) => {
            let sharding = base.shardings.get(*id);
            sharding.display(&base.meshes[sharding.mesh])
        }
        _ => String::new(),
    }
}

/// The key by which constraints are grouped into one finding: the source location or, without one, the type and the sharding.
#[derive(PartialEq, Eq, Hash)]
enum ConstraintSite {
    User(String),
    Kind(TypeId, ShardingId),
}

struct Search<'a, 'm> {
    subject: &'a Subject<'m>,
    strategy: Strategy,
    wanted: &'a ShardingTable,
    values: Vec<ValueId>,
    trials: usize,
    redundant: Vec<&'a [OpId]>,
    untried: usize,
}

impl<'a> Search<'a, '_> {
    /// Finds the groups of constraints in `places` that have no effect, and adds them to `redundant`. Returns whether all of `places`
    /// together have no effect. If `known` is true, it is already known that they have an effect together.
    fn narrow(&mut self, places: &'a [Vec<OpId>], known: bool) -> bool {
        if !known {
            if self.trials == 0 {
                self.untried += places.len();
                return false;
            }
            self.trials -= 1;
            if self.is_same_without(places) {
                self.redundant.extend(places.iter().map(Vec::as_slice));
                return true;
            }
        }
        if places.len() > 1 {
            let (first, second) = places.split_at(places.len() / 2);
            // Both halves together have an effect. So if the first half has none, the second half has one, which needs no trial.
            let without_first = self.narrow(first, false);
            self.narrow(second, without_first);
        }
        false
    }

    /// Whether propagation assigns every value the same sharding if `places` and the constraints already found to be redundant are removed.
    fn is_same_without(&self, places: &[Vec<OpId>]) -> bool {
        let mut module = self.subject.base.clone();
        let gone: FxHashSet<OpId> =
            // The constraints already found are removed too: if either of two constraints suffices without the other, only one of them may
            // be reported.
            places.iter().flatten().chain(self.redundant.iter().copied().flatten()).copied().collect();
        remove(&mut module, self.subject, &gone);
        prioritize(&mut module, self.subject.func, self.strategy);
        if propagate(&mut module, &PropagateOptions::default()).is_err() {
            return false;
        }
        let mut known: FxHashMap<(ShardingId, ShardingId), bool> = FxHashMap::default();
        self.values.iter().all(|&value| match (self.wanted.of(value), module.shardings.of(value)) {
            (Some(wanted), Some(got)) => *known
                .entry((wanted, got))
                // The handles are from different sharding tables, so the shardings are compared. Results are cached, since a program has
                // few distinct pairs.
                .or_insert_with(|| self.wanted.get(wanted).same_placement(module.shardings.get(got))),
            (wanted, got) => wanted == got,
        })
    }
}

/// Returns the values whose shardings must stay the same: all except constants, whose shardings depend on their uses, and results of
/// constraints, whose shardings depend on their operands.
fn compared(subject: &Subject<'_>, ops: &[OpId]) -> Vec<ValueId> {
    let base = subject.base;
    let mut out = base.regions[subject.body].args.clone();
    for &op in ops {
        let data = &base.ops[op];
        if !subject.facts.requested.is_constraint(op) {
            out.extend(data.results.iter().copied().filter(|&v| !subject.is_constant(v)));
        }
    }
    out
}

/// Removes constraints from a program: their operands replace their results.
fn remove(module: &mut Module, subject: &Subject<'_>, gone: &FxHashSet<OpId>) {
    let mut rw = Rewriter::new(module);
    let mut regions = vec![subject.body];
    while let Some(region) = regions.pop() {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            let data = &rw.module.ops[op];
            regions.extend(&data.regions);
            if gone.contains(&op) {
                rw.replace(&data.operands.clone());
            }
        }
    }
}

fn finding(subject: &Subject<'_>, ops: &[OpId], all: usize) -> Diagnostic {
    let base = subject.base;
    let first = ops[0];
    let data = &base.ops[first];
    let sharding = text(base, first);
    let message = format!(
        "the constraint {sharding} has no effect: propagation gives every value the same sharding without it"
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message).at(data.span);
    if ops.len() > 1 {
        let more = count(ops.len() - 1, "more constraint");
        warning = warning.note(Span::NONE, format!("{more} like it"));
    }
    warning = warning.hint(if all > 1 {
        "remove it, together with all others that this rule reports".to_owned()
    } else {
        "remove it, or keep it to guard against changes elsewhere".to_owned()
    });
    warning.user_loc = base.user_loc(first);
    warning
}
