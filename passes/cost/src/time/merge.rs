//! Merging of kernels with equal loops: multi-output fusion.
//!
//! Compilers run kernels with equal loops as one if they read the same value, or if one reads what the other writes. The merged kernel starts
//! once, and reads shared values once. The update of an optimizer is the main case: the parameter and its moments are written by one kernel.
//! A matmul is merged with element-wise operations and reductions of its result, not with other users of its operands.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, ValueId};

use super::schedule::Item;
use super::work::Kernel;

/// The limit on the kernels that touch a value among which a partner is searched.
const NEAREST: usize = 8;

/// A kernel that others may be merged with.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// The number of iterations: elements of the result, or of the reduced operand.
    elements: i64,
    has_matmul: bool,
}

/// The kernels of a region, in program order.
#[derive(Default)]
pub(super) struct Merger {
    /// For each item, its loop; `None` for items that are not merged.
    loops: Vec<Option<Loop>>,
    /// The length of the longest chain of items on which an item depends. An item at a lower level does not depend on it.
    levels: Vec<u32>,
    /// The items that read or write a value.
    touching: FxHashMap<ValueId, Vec<u32>>,
}

impl Merger {
    /// Returns the item that the kernel of `op` is merged with, if any.
    pub(super) fn partner(&self, module: &Module, op: OpId, kernel: &Kernel, needs: &[u32]) -> Option<u32> {
        let elements = elements_of(module, op).filter(|_| kernel.flops == 0.0)?;
        let is_equal =
            |value: &ValueId| module.stored(*value).and_then(|ty| ty.num_elements()) == Some(elements);
        let shared = kernel.whole.iter().filter(|value| is_equal(value));
        let mut partners = shared.flat_map(|value| {
            let items = self.touching.get(value).map_or(&[][..], Vec::as_slice);
            items.iter().rev().take(NEAREST).copied()
        });
        partners.find(|&item| {
            let Some(with) = self.loops[item as usize] else { return false };
            let is_producer = needs.contains(&item);
            let level = self.levels[item as usize];
            let is_apart = |&need: &u32| need == item || self.levels[need as usize] < level;
            with.elements == elements && (is_producer || !with.has_matmul) && needs.iter().all(is_apart)
        })
    }

    /// Adds an item. `kernel` is `None` if it is not a kernel.
    pub(super) fn add(&mut self, module: &Module, op: OpId, kernel: Option<&Kernel>, item: &Item) {
        let at = self.levels.len() as u32;
        let below = item.needs.iter().map(|&need| self.levels[need as usize]).max();
        self.levels.push(below.map_or(0, |level| level + 1));
        let own = kernel.and_then(|kernel| {
            Some(Loop { elements: elements_of(module, op)?, has_matmul: kernel.flops > 0.0 })
        });
        self.loops.push(own);
        if let Some(kernel) = kernel.filter(|_| own.is_some()) {
            self.touch(module, op, kernel, at);
        }
    }

    /// Records the values that a kernel reads and writes, as those of item `at`.
    pub(super) fn touch(&mut self, module: &Module, op: OpId, kernel: &Kernel, at: u32) {
        for &value in kernel.whole.iter().chain(&module.ops[op].results) {
            let items = self.touching.entry(value).or_default();
            if items.last() != Some(&at) {
                items.push(at);
            }
        }
    }
}

/// Returns the iterations of a kernel that can be merged: an element-wise operation, a reduction or a matmul; `None` for others.
fn elements_of(module: &Module, op: OpId) -> Option<i64> {
    let data = &module.ops[op];
    let value = match &data.kind {
        OpKind::Reduce { .. } => data.operands.first(),
        OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(..)
        | OpKind::Select
        | OpKind::Clamp
        | OpKind::Convert
        | OpKind::DotGeneral(_)
        | OpKind::Convolution(_) => data.results.first(),
        _ => None,
    };
    module.stored(*value?)?.num_elements()
}
