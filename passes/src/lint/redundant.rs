//! Sharding constraints that change nothing: without them propagation gives every value the same sharding.
//!
//! Constraints of one place in the user's program stand or fall together. All are left out at once; where that makes a
//! difference, half of them, and so on, on top of what is known to be without effect. So what is told can be
//! removed all together, and the number of propagations is logarithmic where few constraints matter; beyond
//! [`LintOptions::max_trials`](super::LintOptions::max_trials) the search stops and says so.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Class, Diagnostic, Module, OpId, OpKind, Rewriter, ShardingId, ShardingTable, Span, TypeId, ValueId,
};

use super::subject::{Subject, count};
use crate::driver::strategy::{Strategy, prioritize};
use crate::propagate::{PropagateOptions, propagate};

/// Constraints without effect, and a note where not all were tried. `wanted` is the sharding of each value with all of
/// them.
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
    // One that changes the sharding of its value has an effect; one that says nothing is not meant to have any.
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
            "{} of sharding constraints {} not tried for annotation-without-effect: that would take more than {} propagations",
            count(search.untried, "place"),
            if search.untried == 1 { "was" } else { "were" },
            subject.options.max_trials
        )
    });
    // Without places of the user's, those that say the same are one finding.
    let mut told: IndexMap<String, Vec<OpId>> = IndexMap::new();
    for ops in search.redundant {
        let key = base.user_loc(ops[0]).unwrap_or_else(|| text(base, ops[0]));
        told.entry(key).or_default().extend(ops);
    }
    told.values_mut().for_each(|ops| ops.sort_unstable());
    (told.values().map(|ops| finding(subject, ops, told.len())).collect(), note)
}

/// Whether a constraint splits or closes any dimension.
fn says_something(base: &Module, op: OpId) -> bool {
    match &base.ops[op].kind {
        OpKind::ShardingConstraint(id) => {
            base.shardings.get(*id).dims.iter().any(|d| !d.open || !d.axes.is_empty())
        }
        _ => false,
    }
}

/// The sharding of a constraint.
fn text(base: &Module, op: OpId) -> String {
    match &base.ops[op].kind {
        OpKind::ShardingConstraint(id) => {
            let sharding = base.shardings.get(*id);
            sharding.display(&base.meshes[sharding.mesh])
        }
        _ => String::new(),
    }
}

/// Constraints that are looked at together.
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
    /// Finds which of `places` have no effect; whether all have none. `known` says that together they have one.
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
            // Where the first half has no effect, the second has one, for both together had; so it is split without a
            // trial.
            let without_first = self.narrow(first, false);
            self.narrow(second, without_first);
        }
        false
    }

    /// Whether propagation gives every value its sharding without these constraints and those found before.
    fn is_same_without(&self, places: &[Vec<OpId>]) -> bool {
        let mut module = self.subject.base.clone();
        let gone: FxHashSet<OpId> =
            // With those found before: two constraints may each be without effect while the other stands, and are not
            // both to be told.
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
                // Handles of two tables: equal numbers mean nothing, and a program has few distinct pairs.
                .or_insert_with(|| self.wanted.get(wanted).same_placement(module.shardings.get(got))),
            (wanted, got) => wanted == got,
        })
    }
}

/// The values whose shardings must stay: all but constants, which follow their uses, and what constraints make, which
/// is what their operands are.
fn compared(subject: &Subject<'_>, ops: &[OpId]) -> Vec<ValueId> {
    let base = subject.base;
    let mut out = base.regions[subject.body].args.clone();
    for &op in ops {
        let data = &base.ops[op];
        if !subject.facts.asked.is_constraint(op) {
            out.extend(data.results.iter().copied().filter(|&v| !subject.is_constant(v)));
        }
    }
    out
}

/// Takes constraints out of a program: what reads them reads their operands.
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
        "the constraint {sharding} changes nothing: propagation gives every value the same sharding without it"
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message).at(data.span);
    if ops.len() > 1 {
        let more = count(ops.len() - 1, "constraint");
        warning = warning.note(Span::NONE, format!("{more} more like it"));
    }
    warning = warning.hint(if all > 1 {
        "leave it out, together with all others that this rule tells".to_owned()
    } else {
        "leave it out, or keep it to guard against changes elsewhere".to_owned()
    });
    warning.user_loc = base.user_loc(first);
    warning
}
