//! Clean-up of collectives: fewer of them, and never more bytes, unless memory is short.
//!
//! What was planned operation by operation is seen here as a whole:
//!
//! * `defer`, on the planned module: a loop that only adds completed sums to a carried value adds the pending ones,
//!   and completes their sum once, after the loop;
//! * [`clean_collectives`], on the localized one: equal collectives become one (`deduplicate`), permutes of a permute become one (`compose`), those of a loop that do the
//!   same each time round leave it (`hoist`), all-gathers are done again where memory is short (`rematerialize`), small ones that
//!   do not depend on each other become one (`combine`), sums of what became one take it whole (`whole`), and those that nobody needs go.
//!
//! What is kept longer than before costs memory, so each step is bounded by [`CleanOptions`]. No step moves a collective
//! to where it could run more often.

mod combine;
mod compose;
mod deduplicate;
mod defer;
mod hoist;
mod rematerialize;
mod sink;
mod whole;

use shardc_ir::{FuncId, Module, Op, OpId, RegionId, SpmdMode};

pub(crate) use self::defer::defer_sums;
pub(crate) use self::sink::sink_sums;
use super::devices;
use crate::cost;
use crate::cost::memory::Machine;
use crate::localize::shield_loops;
use crate::transforms::dce::dce_where;

/// How far clean-up goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanOptions {
    /// Collectives are combined while they have at most so many bytes together, those that have to be copied for
    /// it while they have a 256th of that; 0 combines none.
    pub combine_bytes: u64,
    /// A loop may keep so many more bytes on each device, where that takes collectives out of it; 0 takes out none.
    pub keep_bytes: u64,
    /// What a device has for arguments, results and temporaries together: all-gathers are repeated rather than kept until
    /// the program needs no more. With 0, all are that are kept while most memory is needed, as FSDP does with
    /// `reshard_after_forward`.
    pub memory_bytes: Option<u64>,
    /// Whose memory that is: how tensors lie in it.
    pub machine: Machine,
}

impl Default for CleanOptions {
    fn default() -> Self {
        CleanOptions {
            combine_bytes: 4 << 20,
            keep_bytes: cost::LOOP_KEEP_BYTES,
            memory_bytes: None,
            machine: Machine::default(),
        }
    }
}

/// What clean-up did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// Collectives that were equal to another.
    pub merged: usize,
    /// Collectives whose results nobody used.
    pub dead: usize,
    /// Permutes that became one with the permute before.
    pub composed: usize,
    /// Collectives that others became part of.
    pub combined: Vec<Combined>,
    /// Collectives that left a loop.
    pub hoisted: usize,
    /// All-gathers that are done again rather than kept.
    pub repeated: usize,
    /// Sums that are completed after a loop rather than each time round.
    pub deferred: usize,
}

/// A collective that stands for several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined {
    /// The collective.
    pub op: OpId,
    /// Those that it stands for. They are in no region any longer, but still know which operation they served.
    pub members: Vec<OpId>,
}

impl CleanReport {
    /// How many collectives there are fewer because they became part of others.
    #[must_use]
    pub fn fewer(&self) -> usize {
        self.combined.iter().map(|one| one.members.len() - 1).sum()
    }

    /// What was done, for people: `2 equal ones merged, 1 moved out of loops`; empty for nothing.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = [
            (self.merged, "equal to another"),
            (self.dead, "without use"),
            (self.composed, "one with the permute before"),
            (self.fewer(), "combined into others"),
            (self.hoisted, "moved out of loops"),
            (self.repeated, "repeated rather than kept"),
            (self.deferred, "completed after a loop"),
        ];
        let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Cleans up the localized function `func`.
pub fn clean_collectives(module: &mut Module, func: FuncId, options: &CleanOptions) -> CleanReport {
    let mut report = CleanReport::default();
    let Some(body) = module.funcs[func].body else { return report };
    let before = count(module, body);
    let is_needless = |module: &Module, op: &Op| module.is_pure(op) || op.kind.collective().is_some();
    dce_where(module, body, is_needless);
    report.dead = before - count(module, body);
    report.composed = compose::compose(module, body);
    if report.composed > 0 {
        dce_where(module, body, is_needless);
    }
    report.merged = deduplicate::merge(module, body, options);
    report.hoisted = hoist::hoist(module, body, options);
    if report.hoisted > 0 {
        // Several loops may have had equal ones.
        report.merged += deduplicate::merge(module, body, options);
    }
    if let Some(memory) = options.memory_bytes {
        report.repeated = rematerialize::repeat(module, func, body, memory, options.machine);
    }
    report.combined = combine::combine(module, body, options);
    whole::sum_whole(module, body, &report.combined);
    dce_where(module, body, is_needless);
    if let Some((SpmdMode::Partition, _)) = devices(module) {
        // New expressions of constants may stand before loops.
        shield_loops(module, body);
    }
    report
}

fn count(module: &Module, body: RegionId) -> usize {
    module.walk(body).into_iter().filter(|&op| module.ops[op].kind.collective().is_some()).count()
}
