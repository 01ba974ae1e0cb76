//! Random bits that wait for their layer.
//!
//! The bits of a dropout follow from its key alone, and the keys of all layers are known before the first layer. So XLA's compilers
//! begin the bits of all layers at once, and keep them until their layer comes, whether or not that is computed again in the backward
//! part: eight layers of a GPT-2 with dropout needed 5.2 GiB of a TPU, and 1.7 where keys wait. Keys go through a barrier with the
//! last product before them: what is behind a barrier is in memory, as that of a product is for a while, where other values may be
//! computed again by what reads them.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Build, Module, OpId, OpKind, RegionId, Rewriter, ValueId, ValueMap, Work, clone_op};
use shardc_passes::analysis::regions::has_program_regions;

/// The most bytes of a key, and of what other keys and the sizes of tensors are computed from.
const LITTLE: i64 = 4096;

/// Lets the keys of loops that make random bits wait for what is computed before them; `has_batch` tells what is made of examples.
pub(super) fn wait(module: &mut Module, region: RegionId, has_batch: &dyn Fn(ValueId) -> bool) {
    let found = Found::under(module, region, has_batch);
    if !found.waits.is_empty() {
        insert(&mut Rewriter::new(module), region, &found);
    }
}

/// The loops that make random bits of large tensors from little, and what each of them waits for.
#[derive(Default)]
struct Found {
    waits: FxHashMap<OpId, ValueId>,
    /// What is computed from little alone.
    known: FxHashSet<ValueId>,
}

impl Found {
    fn under(module: &Module, region: RegionId, has_batch: &dyn Fn(ValueId) -> bool) -> Found {
        let mut found = Found::default();
        found.look_at(module, region, has_batch);
        found
    }

    fn look_at(&mut self, module: &Module, region: RegionId, has_batch: &dyn Fn(ValueId) -> bool) {
        let mut last = None;
        for &op in &module.regions[region].ops {
            let data = &module.ops[op];
            let is_known =
                |v: &ValueId| self.known.contains(v) || module.def_op(*v).is_none() && !is_large(module, *v);
            if data.operands.iter().all(is_known) {
                let is_made =
                    matches!(data.kind, OpKind::While) && data.results.iter().any(|&v| is_large(module, v));
                if let Some(last) = last.filter(|_| is_made) {
                    self.waits.insert(op, last);
                }
                self.known.extend(data.results.iter().copied());
            } else if has_program_regions(&data.kind) {
                for &inner in &data.regions {
                    self.look_at(module, inner, has_batch);
                }
            }
            if data.kind.def().work == Work::Contraction && has_batch(data.results[0]) {
                last = Some(data.results[0]);
            }
        }
    }
}

fn is_large(module: &Module, value: ValueId) -> bool {
    module.stored(value).and_then(|ty| ty.num_bytes()).is_some_and(|bytes| bytes > LITTLE)
}

fn insert(rw: &mut Rewriter<'_>, region: RegionId, found: &Found) {
    let here: FxHashSet<OpId> = rw.module.regions[region].ops.iter().copied().collect();
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if let Some(&until) = found.waits.get(&op) {
            wait_for(rw, op, until, (found, &here));
        } else if has_program_regions(&rw.module.ops[op].kind) {
            for inner in rw.module.ops[op].regions.clone() {
                insert(rw, inner, found);
            }
        }
    }
}

/// Has a loop begin with what is computed behind a barrier with `until`.
fn wait_for(rw: &mut Rewriter<'_>, op: OpId, until: ValueId, (found, here): (&Found, &FxHashSet<OpId>)) {
    let Some(start) = Start::of(rw.module, op, found, here).filter(|start| !start.keys.is_empty()) else {
        return;
    };
    let before: Vec<ValueId> = start.keys.iter().copied().chain([until]).collect();
    let types: Vec<_> = before.iter().map(|&v| rw.module.values[v].ty).collect();
    let barrier = rw.op(OpKind::OptimizationBarrier, &before, &types, &[]);
    let mut map = ValueMap::new();
    let behind = rw.module.ops[barrier].results.clone();
    for (&key, &behind) in start.keys.iter().zip(&behind) {
        map.insert(key, behind);
    }
    for def in start.large {
        let copy = clone_op(rw.module, def, &mut map);
        rw.insert(copy);
    }
    map.rewrite(&mut rw.module.ops[op].operands);
}

/// What a loop over random bits begins with.
#[derive(Default)]
struct Start {
    /// Little values that are no constants.
    keys: Vec<ValueId>,
    /// The operations that make large values of these, in order.
    large: Vec<OpId>,
}

impl Start {
    /// Returns what the loop `op` begins with; `None` where a large value is made by another loop, or outside of the region, whose
    /// operations are `here`: that is not computed once more.
    fn of(module: &Module, op: OpId, found: &Found, here: &FxHashSet<OpId>) -> Option<Start> {
        let mut start = Start::default();
        let mut seen = FxHashSet::default();
        // An operation comes when what it reads did.
        let mut stack: Vec<(ValueId, bool)> =
            module.ops[op].operands.iter().rev().map(|&v| (v, false)).collect();
        while let Some((value, is_ready)) = stack.pop() {
            let def = module.def_op(value);
            if let Some(def) = def.filter(|_| is_ready) {
                start.large.push(def);
                continue;
            }
            if !seen.insert(value) {
                continue;
            }
            let kind = def.map(|def| &module.ops[def].kind);
            if is_large(module, value) {
                let def = def.filter(|def| here.contains(def) && found.known.contains(&value))?;
                if !module.ops[def].regions.is_empty() {
                    return None;
                }
                stack.push((value, true));
                stack.extend(module.ops[def].operands.iter().map(|&v| (v, false)));
            } else if !matches!(kind, Some(OpKind::Constant(_))) {
                start.keys.push(value);
            }
        }
        Some(start)
    }
}
