//! `sdy-unflatten-call-graph`: redirects the calls of equal copies of a function to one of them.
//!
//! A copy records the name of its original function. Two copies are equal if they also have the same enclosing manual axes, and the same
//! shardings of arguments and results. With [`FULLY`], shardings are ignored, and the copy whose shardings most calls use is kept.

use rustc_hash::FxHashMap;
use shardc_ir::{Attr, FuncId, Module, OpId, OpKind, ShardingId};
use shardc_passes::driver::pass_options::PassOption;
use shardc_passes::internal::call_graph::{ORIGINAL_FUNC_NAME, callee_of, calls_in, original_name};

use crate::pass::FUNC_MANUAL_AXES;
use crate::shardings;

/// Also merges functions that differ only in their shardings.
pub(super) const FULLY: PassOption = PassOption::flag("dedup-functions-fully");

/// Identifies the computation of a copy: the name of its original function, and the enclosing manual axes.
type Computation = (Box<str>, Option<Attr>);
/// The shardings of arguments and results, if any.
type Boundary = (Option<Vec<ShardingId>>, Option<Vec<ShardingId>>);

/// Redirects the calls of equal functions to one of them. Then removes the attributes with the original names and with the manual axes.
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

/// For each function, the first called function that is equal to it.
fn first(calls: &[(OpId, FuncId)], keys: &Keys) -> FxHashMap<FuncId, FuncId> {
    let mut first: FxHashMap<&(Computation, Boundary), FuncId> = FxHashMap::default();
    calls.iter().map(|&(_, func)| (func, *first.entry(&keys[&func]).or_insert(func))).collect()
}

/// Returns for each function the function with the same computation whose shardings have the most calls; on a tie, the function that
/// reaches this number first.
fn most_called(calls: &[(OpId, FuncId)], keys: &Keys) -> FxHashMap<FuncId, FuncId> {
    let mut chosen: FxHashMap<&Computation, FuncId> = FxHashMap::default();
    let mut counts: FxHashMap<&(Computation, Boundary), u64> = FxHashMap::default();
    // Initially, the function of the first call is best.
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
