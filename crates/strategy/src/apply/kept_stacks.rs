//! Stacks of layers that are all-gathered once and kept until the end of the backward pass. A stack is cast to a narrower type before its
//! all-gather if all uses in loops cast its rows to that type.
//!
//! The loops then carry the narrow stack, so the gathered value, with its long live range, has the narrow type.
//! A stack with uses other than its update and row slices in loops is gathered in its own type.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, Module, OpId, OpKind, RegionId, ValueId};

use super::rows::{Row, Rows};
use crate::stacked::Stacked;

/// The narrow types to which stacks and their rows are cast before the all-gather.
#[derive(Default)]
pub(super) struct KeptStacks {
    to: FxHashMap<ValueId, DType>,
    pub(super) rows: Rows,
}

impl KeptStacks {
    /// Finds the stacks among `args`, arguments of a body, and changes the loop-carried values and the rows to the narrow type.
    /// `is_update` tests whether an operation of the body reads the stored shard of a stack.
    pub(super) fn narrow(
        module: &mut Module,
        body: RegionId,
        stacked: &Stacked,
        args: &FxHashSet<ValueId>,
        is_update: impl Fn(&Module, OpId, ValueId) -> bool,
    ) -> KeptStacks {
        let stack_of = |value: ValueId| stacked.origin(value).filter(|stack| args.contains(stack));
        let sliced = |module: &Module, op: OpId| module.ops[op].operands.first().copied().and_then(stack_of);

        let mut types: FxHashMap<ValueId, Option<DType>> = FxHashMap::default();
        for Row { stack, to } in Rows::of(module, body, |op| sliced(module, op)).all() {
            let known = types.entry(stack).or_insert(to);
            *known = known.filter(|&known| Some(known) == to);
        }
        // A loop that mixes the carried value of a stack with other values would need both the original and the narrow type.
        let (_, regions) = module.walk_with_regions(body, |_| true);
        let ends: FxHashMap<OpId, RegionId> =
            regions.into_iter().filter_map(|region| Some((module.terminator(region)?, region))).collect();
        let is_carried_on = |module: &Module, region: RegionId, at: usize| {
            let place = module.regions[region].args.get(at).copied();
            let next = module.terminator(region).and_then(|end| module.ops[end].operands.get(at).copied());
            place.and_then(stack_of) == next.and_then(stack_of)
        };
        let (uses, mut carried) = (module.uses(), Vec::new());
        for &top in &module.regions[body].ops {
            let inner = module.ops[top].regions.iter().flat_map(|&region| module.walk(region));
            for (op, is_inner) in inner.map(|op| (op, true)).chain([(top, false)]) {
                let data = &module.ops[op];
                for (at, &operand) in data.operands.iter().enumerate() {
                    let Some(stack) = stack_of(operand) else { continue };
                    match data.kind {
                        OpKind::While
                            if uses.of(data.results[at]).is_empty()
                                && is_carried_on(module, data.regions[1], at) =>
                        {
                            carried.push((data.results[at], stack));
                            let inside = data.regions.iter().filter_map(|&r| module.regions[r].args.get(at));
                            carried.extend(inside.map(|&value| (value, stack)));
                        }
                        OpKind::DynamicSlice { .. } if is_inner => carried.push((data.results[0], stack)),
                        OpKind::OptimizationBarrier if is_inner => carried.push((data.results[at], stack)),
                        OpKind::OptimizationBarrier => {}
                        OpKind::Return
                            if !is_inner
                                || ends.get(&op).is_some_and(|&region| is_carried_on(module, region, at)) => {
                        }
                        _ if !is_inner && is_update(module, op, operand) => {}
                        _ => {
                            types.insert(stack, None);
                        }
                    }
                }
            }
        }

        let to: FxHashMap<ValueId, DType> =
            types.into_iter().filter_map(|(stack, to)| Some((stack, to?))).collect();
        let rows = Rows::of(module, body, |op| sliced(module, op).filter(|stack| to.contains_key(stack)));
        for (value, stack) in carried {
            if let Some(&to) = to.get(&stack) {
                let shape = module.shape(value).to_vec();
                module.values[value].ty = module.types.tensor(&shape, to);
            }
        }
        KeptStacks { to, rows }
    }

    /// Returns the type to which a stack is cast before its all-gather, if any.
    pub(super) fn to(&self, stack: ValueId) -> Option<DType> {
        self.to.get(&stack).copied()
    }
}
