//! The interval of the estimate: how far the need of a program can be from its expected value, and why.
//!
//! Each stage of the model has a source of uncertainty:
//!
//! * *fusion*: a compiler may decide otherwise about values for which recomputing and keeping cost about the same ([`Lean`]);
//! * *schedule*: a compiler may run operations in program order instead of early;
//! * *allocation*: the heap has at least the live bytes, except for buffers in the fast memory of a TPU. A heap that places each buffer when its live range begins shows how much a
//!   compiler can lose to gaps ([`Timeline::best_fit`](super::allocate::Timeline::best_fit)).
//!
//! The interval covers the heaps of the model that keeps more values, of the one that recomputes more, and of the one in program order.

use shardc_ir::{FuncId, Module, OpId, RegionId};

use super::rules::{Lean, Model, Rule};
use super::stages::{Estimate, Peak};

/// The bytes of the width of an interval, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Width {
    /// Values that a compiler may keep instead of recomputing them, or the reverse.
    pub fusion: u64,
    /// Operations that a compiler may run earlier or later.
    pub schedule: u64,
    /// Gaps between buffers.
    pub allocation: u64,
}

/// The heap of a function: expected bytes, and an interval around them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeapInterval {
    pub(super) low: u64,
    pub(super) expected: u64,
    pub(super) high: u64,
    pub(super) width: Width,
}

/// Returns the interval of the heap size whose peak under `model` is `peak`.
pub(super) fn interval(
    module: &Module,
    func: FuncId,
    body: RegionId,
    model: Model,
    of_call: &dyn Fn(OpId) -> u64,
    peak: &Peak,
) -> HeapInterval {
    let other = |model: Model| Estimate::new(module, func, body, model, of_call).peak(body);
    let kept = other(Model { lean: Lean::Keep, ..model });
    let recomputed = other(Model { lean: Lean::Recompute, ..model });
    let in_order =
        other(Model { rules: model.rules.without(Rule::EarlyFrees).without(Rule::EarlyResults), ..model });
    let expected = model.heap(peak.bytes);
    let best_fit = peak.timeline.best_fit();
    let others = [kept.bytes, recomputed.bytes, in_order.bytes];
    // Some of the buffers at the peak may be in fast memory.
    let low = others.into_iter().fold(peak.bytes, u64::min).saturating_sub(model.machine.fast_memory());
    let high = others.into_iter().map(|live| model.heap(live)).fold(expected.max(best_fit), u64::max);
    let width = Width {
        fusion: kept.bytes.abs_diff(recomputed.bytes),
        schedule: in_order.bytes.abs_diff(peak.bytes),
        allocation: expected.max(best_fit).saturating_sub(peak.bytes),
    };
    HeapInterval { low, expected, high, width }
}
