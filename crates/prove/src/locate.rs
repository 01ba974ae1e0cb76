//! The operation because of which results differ.
//!
//! The operations on which all differing outputs depend are ordered: first those whose operands consist of elements of the original while
//! their results do not (`trace`), then what these depend on, from near to far. Each is changed as `repair` proposes, until the results
//! are equal: then its place is certain, and the report states the change. Otherwise the first operations of that order are reported.

use std::collections::VecDeque;

use shardc_ir::{EntityRef, Module, OpId, OpKind, ValueDef, ValueId, verify};

use crate::eval::Eval;
use crate::exact::Test;
use crate::repair::Materials;
use crate::trace::{self, Elements};

/// An operation that may be wrong.
pub(crate) struct Suspect {
    pub(crate) op: OpId,
    /// The change that makes all results equal, if there is one.
    pub(crate) repair: Option<String>,
}

/// The most changes that are tried.
const MOST_TRIES: u64 = 400;
/// The most elements that all tries compute together.
const MOST_WORK: u64 = 1 << 33;
/// The elements whose computation takes as long as to begin an operation.
const OPERATION: u64 = 100;
/// The number of operations after which a collective is tried.
const MOST_FOLLOWED: usize = 8;
/// The most operations that are reported.
const MOST_SUSPECTS: usize = 8;

/// The most likely operations, the most likely first.
pub(crate) fn suspects(
    eval: &Eval<'_, '_>,
    test: &Test<'_>,
    returned: &[ValueId],
    different: &[usize],
) -> Vec<Suspect> {
    let module = eval.module;
    let roots: Vec<ValueId> = different.iter().filter_map(|&at| returned.get(at).copied()).collect();
    let common = common(module, &roots);
    let elements = trace::elements(test, module).unwrap_or_default();
    let is_good = |value: ValueId| {
        let is_term = eval.values[value.index()].as_ref().is_some_and(|view| eval.is_original(view));
        match elements.get(value.index()).copied().flatten() {
            Some(Elements::Known | Elements::Partial) => true,
            Some(Elements::Other) => false,
            None => is_term,
        }
    };
    let (real, bad) = first(module, &roots, &common, is_good);
    let symbolic = starts(eval, &roots, &common);
    // An operation that begins to differ both in terms and in elements comes first.
    let (both, others): (Vec<OpId>, Vec<OpId>) = real.into_iter().partition(|op| symbolic.contains(op));
    let mut first: Vec<OpId> = both.into_iter().chain(others).collect();
    let more: Vec<OpId> = symbolic.into_iter().filter(|op| !first.contains(op)).collect();
    first.extend(more);
    let order = order(module, &first, &bad, &common);
    let work = test.elements() + OPERATION * module.ops.len() as u64;
    let tries = MOST_TRIES.min(MOST_WORK / work.saturating_mul(test.positions().len() as u64).max(1));
    let mut found: Vec<Suspect> = repaired(module, test, &order, tries).into_iter().collect();
    let known = found.first().map(|suspect| suspect.op);
    let rest =
        first.into_iter().flat_map(|op| inside(eval, op)).filter(|&op| Some(op) != known).take(MOST_SUSPECTS);
    found.extend(rest.map(|op| Suspect { op, repair: None }));
    found
}

/// For an operation with control flow, the operations inside at which values begin to differ from all terms of the original, and itself.
fn inside(eval: &Eval<'_, '_>, op: OpId) -> Vec<OpId> {
    let module = eval.module;
    let is_flow = |op: OpId| matches!(module.ops[op].kind, OpKind::While | OpKind::If | OpKind::Case);
    let mut found = Vec::new();
    if is_flow(op) {
        let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
        let is_matched = |op: OpId| eval.matched[op.index()];
        found.extend(inner.filter(|&inner| {
            let mut producers =
                module.ops[inner].operands.iter().filter_map(|&value| producer(module, value));
            !is_matched(inner) && !is_flow(inner) && producers.all(is_matched)
        }));
    }
    found.push(op);
    found
}

/// The producers of the operands of an operation and of the operations in its regions.
fn producers(module: &Module, op: OpId) -> Vec<OpId> {
    let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    let all = std::iter::once(op).chain(inner);
    all.flat_map(|op| &module.ops[op].operands).filter_map(|&value| producer(module, value)).collect()
}

fn producer(module: &Module, value: ValueId) -> Option<OpId> {
    match module.values[value].def() {
        ValueDef::Result(op, _) => Some(op),
        ValueDef::Arg(..) => None,
    }
}

/// The operations on which all of these values depend; if there are none, those on which some depend.
fn common(module: &Module, roots: &[ValueId]) -> Vec<bool> {
    let mut counts = vec![0usize; module.ops.len()];
    for &root in roots {
        let mut seen = vec![false; module.ops.len()];
        let mut stack: Vec<OpId> = producer(module, root).into_iter().collect();
        while let Some(op) = stack.pop() {
            if !std::mem::replace(&mut seen[op.index()], true) {
                stack.extend(producers(module, op));
                stack.extend(module.ops[op].regions.iter().flat_map(|&region| module.walk(region)));
            }
        }
        counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += usize::from(seen));
    }
    let all: Vec<bool> = counts.iter().map(|&count| count == roots.len()).collect();
    if all.contains(&true) { all } else { counts.iter().map(|&count| count > 0).collect() }
}

/// The first operations with bad results, and all of them, in program order.
fn first(
    module: &Module,
    roots: &[ValueId],
    common: &[bool],
    is_good: impl Fn(ValueId) -> bool,
) -> (Vec<OpId>, Vec<OpId>) {
    let is_real = |value: &ValueId| module.tensor(*value).is_some_and(|ty| ty.dtype.is_float());
    let mut seen = vec![false; module.ops.len()];
    let mut stack: Vec<OpId> = roots.iter().filter_map(|&value| producer(module, value)).collect();
    let (mut found, mut bad) = (Vec::new(), Vec::new());
    while let Some(op) = stack.pop() {
        if std::mem::replace(&mut seen[op.index()], true) {
            continue;
        }
        bad.push(op);
        let operands = &module.ops[op].operands;
        // Offsets are no elements of the original, but seldom wrong: reals come first.
        let has_reals = operands.iter().any(is_real);
        let wrong: Vec<OpId> = operands
            .iter()
            .filter(|value| !has_reals || is_real(value))
            .filter(|&&value| !is_good(value))
            .filter_map(|&value| producer(module, value))
            .collect();
        if wrong.is_empty() && common[op.index()] {
            found.push(op);
        }
        stack.extend(wrong);
    }
    if found.is_empty() {
        found.extend(bad.iter().copied().filter(|op| common[op.index()]));
    }
    for list in [&mut found, &mut bad] {
        list.sort_by_key(|&op| (module.ops[op].span.start, op.index()));
    }
    (found, bad)
}

/// The operations, also inside control flow, at which values begin to differ from all terms of the original.
fn starts(eval: &Eval<'_, '_>, roots: &[ValueId], common: &[bool]) -> Vec<OpId> {
    let module = eval.module;
    let is_matched =
        |value: ValueId| eval.values[value.index()].as_ref().is_some_and(|view| eval.is_original(view));
    let mut seen = vec![false; module.ops.len()];
    let mut stack: Vec<ValueId> = roots.to_vec();
    let mut found = Vec::new();
    while let Some(value) = stack.pop() {
        let Some(op) = producer(module, value).filter(|_| !is_matched(value)) else { continue };
        if std::mem::replace(&mut seen[op.index()], true) {
            continue;
        }
        let operands = &module.ops[op].operands;
        let is_number = matches!(module.ops[op].kind, OpKind::PartitionId | OpKind::ReplicaId);
        if common[op.index()] && !is_number && operands.iter().all(|&value| is_matched(value)) {
            found.push(op);
        }
        stack.extend(operands);
        for inner in module.ops[op].regions.iter().flat_map(|&region| module.walk(region)) {
            stack.extend(&module.ops[inner].operands);
        }
    }
    found.sort_by_key(|&op| (module.ops[op].span.start, op.index()));
    found
}

/// The order in which operations are tried.
fn order(module: &Module, first: &[OpId], bad: &[OpId], common: &[bool]) -> Vec<OpId> {
    let mut seen = vec![false; module.ops.len()];
    let mut queue: VecDeque<OpId> = first.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(op) = queue.pop_front() {
        if std::mem::replace(&mut seen[op.index()], true) {
            continue;
        }
        found.push(op);
        found.extend(module.ops[op].regions.iter().flat_map(|&region| module.walk(region)));
        queue.extend(producers(module, op).into_iter().filter(|op| common[op.index()]));
    }
    let rest: Vec<OpId> = bad.iter().copied().filter(|op| !seen[op.index()]).collect();
    // Operations of reducers are changed with their reduction.
    let is_flow = |kind: &OpKind| matches!(kind, OpKind::While | OpKind::If | OpKind::Case);
    let mut may_change = vec![false; module.ops.len()];
    for op in module.bodies().flat_map(|body| module.walk_where(body, is_flow)) {
        may_change[op.index()] = true;
    }
    let all = found.into_iter().chain(rest).filter(|op| std::mem::take(&mut may_change[op.index()]));
    let (mut odd, others): (Vec<OpId>, Vec<OpId>) = all.partition(|&op| is_odd(module, op));
    odd.extend(others);
    odd
}

/// Whether a collective has groups that are not along axes of the mesh, which partitions seldom have.
fn is_odd(module: &Module, op: OpId) -> bool {
    match &module.ops[op].kind {
        OpKind::AllReduce(spec)
        | OpKind::AllGather { spec, .. }
        | OpKind::ReduceScatter { spec, .. }
        | OpKind::AllToAll { spec, .. } => spec.groups.as_strided().is_none(),
        _ => false,
    }
}

/// The first operation that a repair corrects.
fn repaired(module: &Module, test: &Test<'_>, order: &[OpId], tries: u64) -> Option<Suspect> {
    let materials = Materials::new(test.original(), test.boundary(), &trace::subsets(test.boundary()));
    let mut left = tries;
    // Missing collectives are tried last, and only near the first operations.
    let near = order.iter().take(MOST_FOLLOWED).map(|&op| (op, true));
    for (op, is_followed) in order.iter().map(|&op| (op, false)).chain(near) {
        let repairs = match is_followed {
            true => materials.followed(module, op),
            false => materials.repairs(module, op),
        };
        for repair in repairs {
            left = left.checked_sub(1)?;
            let mut changed = module.clone();
            repair.apply(&mut changed, op);
            if verify(&changed).is_err() {
                continue;
            }
            if test.is_equal(&changed) {
                return Some(Suspect { op, repair: Some(repair.text(module, op)) });
            }
        }
    }
    None
}
