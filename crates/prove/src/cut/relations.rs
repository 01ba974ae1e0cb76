//! Values of the partition that are blocks of values of the original.

use rustc_hash::FxHashMap;
use shardc_ir::{EntityRef, Module, ReductionKind, RegionId, ValueId};

use crate::boundary::{AxisDigit, Block};
use crate::check::{Both, number};
use crate::terms::{DEVICE, Digit, Digits, Op, TermId, Terms, View};

/// A value of the partition that is a block of a value of the original.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub(crate) global: ValueId,
    pub(crate) local: ValueId,
    pub(crate) block: Block,
}

/// The parameters and results of the operations of a region, in order.
pub(crate) fn values(module: &Module, region: RegionId) -> impl Iterator<Item = ValueId> {
    let data = &module.regions[region];
    let results = data.ops.iter().flat_map(|&op| module.ops[op].results.iter().copied());
    data.args.iter().copied().chain(results)
}

/// The sizes of a value; `None` unless it is a tensor of static size.
pub(crate) fn sizes(module: &Module, value: ValueId) -> Option<Vec<u64>> {
    let ty = module.tensor(value).filter(|ty| ty.is_static())?;
    ty.shape.iter().map(|&size| u64::try_from(size).ok().filter(|&size| size > 0)).collect()
}

/// For each term that depends on a parameter: the first value of the partition that is a block of the original's value of this term.
pub(crate) fn relations(both: &Both<'_, '_>) -> FxHashMap<TermId, Relation> {
    let (original, module) = (both.original, both.eval.module);
    let terms = &*both.eval.terms;
    let has_param = depends_on_parameters(terms);
    let mut globals: FxHashMap<TermId, Vec<ValueId>> = FxHashMap::default();
    let body = original.entry().and_then(|entry| original.funcs[entry].body);
    for value in body.into_iter().flat_map(|body| values(original, body)) {
        if let Some(view) = &both.views[value.index()] {
            globals.entry(view.term).or_default().push(value);
        }
    }
    let mut found = FxHashMap::default();
    for local in values(module, both.body) {
        let Some(view) = &both.eval.values[local.index()] else { continue };
        if found.contains_key(&view.term) || !has_param.get(view.term.0 as usize).is_some_and(|&has| has) {
            continue;
        }
        let related = globals.get(&view.term).into_iter().flatten().find_map(|&global| {
            let dtype = |module: &Module, value| module.tensor(value).map(|ty| ty.dtype);
            if dtype(original, global) != dtype(module, local) {
                return None;
            }
            let sizes = [sizes(original, global)?, sizes(module, local)?];
            let block = block(both.views[global.index()].as_ref()?, view, sizes)?;
            Some(Relation { global, local, block })
        });
        found.extend(related.map(|relation| (view.term, relation)));
    }
    found
}

fn depends_on_parameters(terms: &Terms) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(terms.len());
    for at in 0..terms.len() {
        let node = terms.node(TermId(at as u32));
        let has = |term: TermId| found.get(term.0 as usize).is_some_and(|&has| has);
        let is = matches!(node.op, Op::Param(_)) || node.args.iter().any(|arg| has(arg.term));
        found.push(is);
    }
    found
}

/// The view of the block of a value.
pub(crate) fn blocked(view: &View, block: &Block) -> Option<View> {
    let numbers: Vec<Digits> = (0..block.axes.len()).map(|dim| number(block, dim)).collect();
    view.moved(|slot| numbers.get(slot as usize).map(|number| &number[..]))
}

/// The block of a global value whose view is `local`, if it is one.
fn block(global: &View, local: &View, [global_sizes, local_sizes]: [Vec<u64>; 2]) -> Option<Block> {
    if global_sizes.len() != local_sizes.len() {
        return None;
    }
    let mut axes: Vec<Vec<AxisDigit>> = vec![Vec::new(); global_sizes.len()];
    for (wanted, found) in global.index.iter().zip(&local.index) {
        let mut rest: Vec<Digit> = found.iter().rev().copied().collect();
        for digit in wanted {
            let mut left = digit.size;
            while left > 1 {
                let next = rest.pop()?;
                let own = if next.size > left {
                    // Two digits that are adjacent in the device, too, were merged.
                    let low = next.size.is_multiple_of(left).then(|| next.size / left)?;
                    rest.push(Digit { size: low, ..next });
                    Digit { stride: next.stride * low, size: left, ..next }
                } else {
                    next
                };
                left = left.is_multiple_of(own.size).then(|| left / own.size)?;
                if own.slot == DEVICE {
                    let is_whole =
                        digit.stride == 1 && global_sizes.get(digit.slot as usize) == Some(&digit.size);
                    let axis = AxisDigit { stride: own.stride, size: own.size };
                    axes.get_mut(digit.slot as usize).filter(|_| is_whole)?.push(axis);
                }
            }
        }
    }
    let block = Block {
        global: global_sizes,
        local: local_sizes,
        axes,
        unreduced: Vec::new(),
        reduction: ReductionKind::Add,
    };
    let is_even = (0..block.axes.len()).all(|dim| !block.is_uneven(dim));
    (is_even && blocked(global, &block).as_ref() == Some(local)).then_some(block)
}
