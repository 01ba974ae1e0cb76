//! Collective clean-up: reduces the number of collectives. The bytes sent increase only if all-gathers are rematerialized to save memory.
//!
//! Planning considers one operation at a time. These passes consider the whole program:
//!
//! * `defer`, on the planned module: the reduction of an accumulator moves out of its loop;
//! * [`clean_collectives`], on the localized module:
//!   * merges equal collectives (`deduplicate`) and successive permutes (`compose`);
//!   * hoists invariant collectives out of loops (`hoist`);
//!   * rematerializes all-gathers if memory is insufficient (`rematerialize`);
//!   * combines small independent collectives (`combine`), and all-reduces combined results before they are sliced (`whole`);
//!   * removes dead collectives.
//!
//! Longer live ranges cost memory, so [`CleanOptions`] limits each step. No step moves a collective to a place where it could run more
//! often.

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

/// Limits for the clean-up passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanOptions {
    /// The maximum size of a combined collective in bytes, divided by 256 if operands must be copied. 0 disables combining.
    pub combine_bytes: u64,
    /// The additional bytes that may be live in a loop, per device, when collectives are hoisted or deferred; 0 disables both.
    pub keep_bytes: u64,
    /// The memory of a device for arguments, results and temporaries, in bytes: all-gathers are rematerialized until the program fits.
    /// With 0, every all-gathered value that is live at the memory peak is rematerialized, as FSDP does with `reshard_after_forward`.
    pub memory_bytes: Option<u64>,
    /// The machine, which determines tensor layouts and therefore the sizes of tensors in memory.
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

/// The result of clean-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// The number of collectives merged with an equal one.
    pub merged: usize,
    /// The number of dead collectives that were removed.
    pub dead: usize,
    /// The number of permutes composed with an earlier permute.
    pub composed: usize,
    /// The combined collectives.
    pub combined: Vec<Combined>,
    /// The number of collectives hoisted out of a loop.
    pub hoisted: usize,
    /// The number of rematerialized all-gathers.
    pub repeated: usize,
    /// The number of reductions deferred until after a loop.
    pub deferred: usize,
}

/// A collective that replaces several collectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined {
    /// The collective.
    pub op: OpId,
    /// The original collectives, for their source locations. `op` may be the first of them; the others are no longer in a region.
    pub members: Vec<OpId>,
}

impl CleanReport {
    /// Returns the number of collectives removed by combining.
    #[must_use]
    pub fn fewer(&self) -> usize {
        self.combined.iter().map(|one| one.members.len() - 1).sum()
    }

    /// Returns a summary as text: `2 merged with a duplicate, 1 moved out of loops`; empty if nothing was done.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = [
            (self.merged, "merged with a duplicate"),
            (self.dead, "dead"),
            (self.composed, "composed with an earlier permute"),
            (self.fewer(), "combined into others"),
            (self.hoisted, "moved out of loops"),
            (self.repeated, "rematerialized"),
            (self.deferred, "deferred past a loop"),
        ];
        let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Runs the clean-up passes on the localized function `func`.
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
        // Hoisting may have moved equal collectives out of several loops.
        report.merged += deduplicate::merge(module, body, options);
    }
    if let Some(memory) = options.memory_bytes {
        report.repeated = rematerialize::repeat(module, func, body, memory, options.machine);
    }
    report.combined = combine::combine(module, body, options);
    whole::sum_whole(module, body, &report.combined);
    dce_where(module, body, is_needless);
    if let Some((SpmdMode::Partition, _)) = devices(module) {
        // Hoisting may have created constant expressions before loops, which XLA must not fold (see [`shield_loops`]).
        shield_loops(module, body);
    }
    report
}

fn count(module: &Module, body: RegionId) -> usize {
    module.walk(body).into_iter().filter(|&op| module.ops[op].kind.collective().is_some()).count()
}
