//! `sdy-unflatten-call-graph`: calls of copies of one function call one of them again.
//!
//! Copies know the name of the function that they are copies of. Two are alike if they also have the same manual axes
//! around them and the same shardings of arguments and results; with [`FULLY`] the shardings do not matter, and the
//! copy that most calls suit is kept.

use rustc_hash::FxHashMap;
use shardc_ir::{Attr, FuncId, Module, OpId, OpKind, ShardingId};
use shardc_passes::driver::pass_options::PassOption;
use shardc_passes::internal::call_graph::{ORIGINAL_FUNC_NAME, callee_of, calls_in, original_name};

use crate::pass::FUNC_MANUAL_AXES;
use crate::shardings;

/// Whether functions that differ in shardings alone become one.
pub(super) const FULLY: PassOption = PassOption::flag("dedup-functions-fully");

/// What a function computes.
type Computation = (Box<str>, Option<Attr>);
/// How its arguments and results are sharded, where they are.
type Boundary = (Option<Vec<ShardingId>>, Option<Vec<ShardingId>>);

/// Lets calls of like functions call one of them, and forgets what copies are copies of.
pub(super) fn unflatten(module: &mut Module, fully: bool) {
    let calls: Vec<(OpId, FuncId)> = module
        .funcs
        .keys()
        .flat_map(|func| calls_in(module, func))
        .filter_map(|call| Some((call, callee_of(module, call)?)))
        .collect();
    let mut keys: FxHashMap<FuncId, (Computation, Boundary)> = FxHashMap::default();
    for &(_, func) in &calls {
        keys.entry(func).or_insert_with(|| (computation(module, func), boundary(module, func)));
    }
    let chosen = if fully { most_called(&calls, &keys) } else { first(&calls, &keys) };
    for (op, func) in calls {
        if let Some(&callee) = chosen.get(&func) {
            module.ops[op].kind = OpKind::Call { callee: module.funcs[callee].name.clone() };
        }
    }
    for func in module.funcs.values_mut() {
        func.attrs.remove(ORIGINAL_FUNC_NAME);
        func.attrs.remove(FUNC_MANUAL_AXES);
    }
}

type Keys = FxHashMap<FuncId, (Computation, Boundary)>;

/// For each function the first that is called of those like it.
fn first(calls: &[(OpId, FuncId)], keys: &Keys) -> FxHashMap<FuncId, FuncId> {
    let mut first: FxHashMap<&(Computation, Boundary), FuncId> = FxHashMap::default();
    calls.iter().map(|&(_, func)| (func, *first.entry(&keys[&func]).or_insert(func))).collect()
}

/// For each function the one of those that compute the same whose shardings most calls have; of several, the one that
/// had as many calls first.
fn most_called(calls: &[(OpId, FuncId)], keys: &Keys) -> FxHashMap<FuncId, FuncId> {
    let mut chosen: FxHashMap<&Computation, FuncId> = FxHashMap::default();
    let mut counts: FxHashMap<&(Computation, Boundary), u64> = FxHashMap::default();
    // The first call of all decides what is ahead at the start.
    for &(_, func) in calls {
        chosen.entry(&keys[&func].0).or_insert(func);
    }
    for &(_, func) in calls {
        let key = &keys[&func];
        let count = counts.entry(key).or_default();
        *count += 1;
        let count = *count;
        let Some(ahead) = chosen.get_mut(&key.0) else { continue };
        if count > counts.get(&keys[ahead]).copied().unwrap_or(0) {
            *ahead = func;
        }
    }
    calls.iter().filter_map(|&(_, func)| Some((func, *chosen.get(&keys[&func].0)?))).collect()
}

fn computation(module: &Module, func: FuncId) -> Computation {
    let data = &module.funcs[func];
    (original_name(data).into(), data.attrs.get(FUNC_MANUAL_AXES).cloned())
}

fn boundary(module: &mut Module, func: FuncId) -> Boundary {
    (shardings::of_params(module, func), shardings::of_results(module, func))
}
