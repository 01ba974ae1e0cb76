//! The interval of the estimate: how far the need of a program can be from its expected value, and why.
//!
//! Each stage of the model has a source of uncertainty:
//!
//! * *fusion*: a compiler may decide otherwise about values for which recomputing and keeping cost about the same ([`Lean`]);
//! * *schedule*: a compiler may run operations in program order instead of early;
//! * *allocation*: at best, the heap has the live bytes. At worst, gaps take a fraction of the live bytes that depends on the compiler;
//! * *fast memory*: the largest buffers at the peak may be in the fast memory of a TPU;
//! * *other*: the compiler makes choices that the model does not have ([`OTHER`]).
//!
//! The interval reaches as far below and above the expected value as the sum of these effects.

use shardc_ir::RegionId;

use super::rules::{Lean, Model, Rule};
use super::stages::{Estimate, Peak};

/// The fraction (1/16) of the heap by which choices that the model does not have may change it. On the development programs of
/// `tests/memory.json`, the standard deviation of the error is 5 %.
const OTHER: u64 = 16;

/// The bytes of the width of an interval, by cause. They add up to the width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Width {
    /// Values that a compiler may keep instead of recomputing them, or the reverse.
    pub fusion: u64,
    /// Operations that a compiler may run earlier or later.
    pub schedule: u64,
    /// Gaps between buffers.
    pub allocation: u64,
    /// Buffers that may be in the fast memory of a TPU.
    pub fast_memory: u64,
    /// Choices that the model does not have.
    pub other: u64,
}

/// The heap of a function: expected bytes, and an interval around them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeapInterval {
    pub(super) low: u64,
    pub(super) expected: u64,
    pub(super) high: u64,
    pub(super) width: Width,
}

impl HeapInterval {
    /// Moves one end of the interval to include `bytes`, and returns by how much.
    fn include(&mut self, bytes: u64) -> u64 {
        let before = self.high - self.low;
        (self.low, self.high) = (self.low.min(bytes), self.high.max(bytes));
        self.high - self.low - before
    }

    /// Moves the lower end down, and returns by how much. The interval has no negative numbers.
    fn lower(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.low);
        self.low -= bytes;
        bytes
    }

    /// Moves the upper end up, and returns by how much.
    fn raise(&mut self, bytes: u64) -> u64 {
        self.high = self.high.saturating_add(bytes);
        bytes
    }
}

/// Returns the interval of the heap size whose peak under `model` is `peak`, which `estimate` computed.
pub(super) fn interval(
    estimate: &mut Estimate<'_>,
    body: RegionId,
    model: Model,
    peak: &Peak,
) -> HeapInterval {
    let mut heap_of = |model: Model| {
        estimate.restart(body, model);
        size(model, &estimate.peak(body))
    };
    let expected = size(model, peak);
    let mut heap = HeapInterval { low: expected, expected, high: expected, width: Width::default() };
    let kept = heap_of(Model { lean: Lean::Keep, ..model });
    let recomputed = heap_of(Model { lean: Lean::Recompute, ..model });
    let rules = model.rules.without(Rule::EarlyFrees).without(Rule::EarlyResults);
    let fusion = heap.include(kept) + heap.include(recomputed);
    let schedule = heap.include(heap_of(Model { rules, ..model }));
    let gaps = expected.saturating_sub(peak.bytes);
    let most = model.machine.gaps(peak.bytes).max(2 * gaps).saturating_sub(gaps);
    let allocation = heap.lower(gaps) + heap.raise(most);
    let fast_memory = heap.lower(model.machine.fast_memory());
    let other = heap.lower(expected / OTHER) + heap.raise(expected / OTHER);
    heap.width = Width { fusion, schedule, allocation, fast_memory, other };
    heap
}

/// Returns the expected heap size of temporaries with this peak: halfway between the live bytes and a first fit. The compiler
/// places its own buffers by first fit. A first fit of the modelled buffers, whose sizes and live ranges have errors, loses more.
fn size(model: Model, peak: &Peak) -> u64 {
    let most = peak.timeline.first_fit().max(peak.bytes);
    let gaps = if model.rules.contains(Rule::Fragmentation) { (most - peak.bytes) / 2 } else { 0 };
    peak.bytes + gaps
}
