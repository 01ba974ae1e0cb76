//! The first wrong value of the partition, and what it should be.
//!
//! A value of the original is *lost* if no value of the partition has its term. If the assumption that a value of the partition is a block of
//! a lost value proves an output, everything after the value is correct. Then the difference is before it.

use rustc_hash::FxHashSet;
use shardc_ir::{EntityRef, Module, ReductionKind, ValueDef, ValueId};

use super::extract::{reached, uses};
use super::pieces::Target;
use super::relations::{blocked, sizes, values};
use crate::boundary::{AxisDigit, Block};
use crate::check::Both;
use crate::report::Output;
use crate::terms::TermId;
use crate::trace::subsets;

/// The most lost values that are tried.
const MOST_LOST: usize = 32;
/// The most values of the partition that are tried for each lost value.
const MOST_VALUES: usize = 64;
/// The most operations that all tries evaluate together.
const MOST_STEPS: u64 = 1 << 20;
/// The most blocks of a value that are tried.
const MOST_BLOCKS: usize = 32;
/// The most lost values for which a value of the partition is returned.
const MOST_FOUND: usize = 4;
/// The most outputs that are returned.
const MOST_OUTPUTS: usize = 8;

/// Values of the partition that may differ from the block that they should be: values inside first, then outputs that are not proven.
pub(crate) fn targets(both: &mut Both<'_, '_>) -> Vec<Target> {
    let states = both.outputs();
    let open: Vec<usize> = (0..states.len()).filter(|&at| !matches!(states[at], Output::Proven)).collect();
    let (original, module) = (both.original, both.eval.module);
    let returned = (returned(original), returned(module));
    let ends = |list: &[ValueId]| open.iter().filter_map(|&at| list.get(at).copied()).collect::<Vec<_>>();
    let mut found = inside(both, &ends(&returned.0), &ends(&returned.1), states.len() - open.len());
    for &at in open.iter().take(MOST_OUTPUTS) {
        let pair = returned.0.get(at).zip(returned.1.get(at)).zip(both.boundary.outputs.get(at));
        found.extend(pair.map(|((&global, &local), block)| Target {
            global,
            local,
            block: block.clone(),
            is_output: true,
        }));
    }
    found
}

/// The results of the entry function.
fn returned(module: &Module) -> Vec<ValueId> {
    let body = module.entry().and_then(|entry| module.funcs[entry].body);
    let end = body.and_then(|body| module.terminator(body));
    end.map(|end| module.ops[end].operands.to_vec()).unwrap_or_default()
}

fn inside(
    both: &mut Both<'_, '_>,
    global_ends: &[ValueId],
    local_ends: &[ValueId],
    proven: usize,
) -> Vec<Target> {
    let (original, module) = (both.original, both.eval.module);
    let lost = lost(both, global_ends);
    let locals = unmatched(both, local_ends);
    let axes = subsets(both.boundary);
    let (saved, results) = (both.eval.save(), both.found.take());
    let mut steps = 0;
    let mut found = Vec::new();
    'all: for &global in &lost {
        let mut last = None;
        for &local in &locals {
            let is_same_type =
                original.tensor(global).map(|ty| ty.dtype) == module.tensor(local).map(|ty| ty.dtype);
            let Some(shapes) = sizes(original, global).zip(sizes(module, local)).filter(|_| is_same_type)
            else {
                continue;
            };
            for block in blocks(&shapes.0, &shapes.1, &axes) {
                let view = both.views[global.index()].as_ref().and_then(|view| blocked(view, &block));
                let Some(view) = view else { continue };
                let Ok((results, more)) = both.eval.assume(both.body, local, view) else { break 'all };
                steps += more;
                both.found = results;
                let is_more = both.found.is_some() && {
                    let states = both.outputs();
                    states.iter().filter(|state| matches!(state, Output::Proven)).count() > proven
                };
                both.eval.restore(&saved);
                if is_more {
                    last = Some(Target { global, local, block, is_output: false });
                }
                if steps > MOST_STEPS {
                    found.extend(last);
                    break 'all;
                }
            }
        }
        // Later values have more of the operations before them: an idempotent reduction may correct a wrong operand.
        found.extend(last);
        if found.len() >= MOST_FOUND {
            break;
        }
    }
    both.eval.restore(&saved);
    both.found = results;
    found
}

/// The first values of the original on which these depend, and whose terms no value of the partition has.
fn lost(both: &Both<'_, '_>, ends: &[ValueId]) -> Vec<ValueId> {
    let module = both.eval.module;
    let known: FxHashSet<TermId> = values(module, both.body)
        .filter_map(|value| both.eval.values[value.index()].as_ref().map(|view| view.term))
        .collect();
    let Some((ops, _)) = reached(both.original, ends, |_| false) else { return Vec::new() };
    let results = ops.iter().flat_map(|&op| both.original.ops[op].results.iter().copied());
    let is_lost =
        |value: &ValueId| both.views[value.index()].as_ref().is_some_and(|view| !known.contains(&view.term));
    results.filter(is_lost).take(MOST_LOST).collect()
}

/// The first values of the partition that are no values of the original, and on which these depend through such values.
fn unmatched(both: &Both<'_, '_>, ends: &[ValueId]) -> Vec<ValueId> {
    let module = both.eval.module;
    let mut seen = vec![false; module.values.len()];
    let mut stack = ends.to_vec();
    while let Some(value) = stack.pop() {
        let is_matched =
            both.eval.values[value.index()].as_ref().is_some_and(|view| both.eval.is_original(view));
        if is_matched || std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        if let ValueDef::Result(op, _) = module.values[value].def() {
            stack.extend(uses(module, op));
        }
    }
    values(module, both.body)
        .filter(|&value| seen[value.index()] && module.def_op(value).is_some())
        .take(MOST_VALUES)
        .collect()
}

/// The blocks of these sizes along axes of the mesh.
fn blocks(global: &[u64], local: &[u64], axes: &[Vec<AxisDigit>]) -> Vec<Block> {
    if global.len() != local.len() {
        return Vec::new();
    }
    let mut found: Vec<Vec<Vec<AxisDigit>>> = vec![Vec::new()];
    for (&global, &local) in global.iter().zip(local) {
        if !global.is_multiple_of(local) {
            return Vec::new();
        }
        let shards = global / local;
        let fits = |axes: &&Vec<AxisDigit>| axes.iter().map(|axis| axis.size).product::<u64>() == shards;
        let mut own: Vec<Vec<AxisDigit>> = Vec::new();
        if shards == 1 {
            own.push(Vec::new());
        }
        for axes in axes.iter().filter(fits) {
            own.push(axes.iter().rev().copied().collect());
            if axes.len() > 1 {
                own.push(axes.clone());
            }
        }
        let mut next = Vec::new();
        for (before, axes) in found.iter().flat_map(|before| own.iter().map(move |axes| (before, axes))) {
            let is_used = before.iter().flatten().any(|axis| axes.contains(axis));
            if !is_used && next.len() < MOST_BLOCKS {
                next.push(before.iter().cloned().chain([axes.clone()]).collect());
            }
        }
        found = next;
    }
    let block = |axes| Block {
        global: global.to_vec(),
        local: local.to_vec(),
        axes,
        unreduced: Vec::new(),
        reduction: ReductionKind::Add,
    };
    found.into_iter().map(block).collect()
}
