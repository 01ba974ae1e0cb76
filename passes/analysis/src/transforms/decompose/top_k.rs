//! Canonicalizes custom calls that take the largest elements of each row to `chlo.top_k`.
//!
//! XLA's name of the call is `TopK`, and MLIR HLO's name is `mhlo.topk`. Both calls order numbers as `chlo.top_k` does: descending by total
//! order, equal elements by index.
//!
//! Conditions: one operand, two results of static shape, `i32` indices, and the largest elements are taken, not the smallest.
//!
//! ```mlir
//! %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}} ...
//! // becomes
//! %values, %indices = chlo.top_k(%x, k = 2) ...
//! ```

use shardc_ir::{
    Attr, AttrDict, Build, CompareDirection, DType, Module, OpId, OpKind, Rewriter, TypeId, ValueDef, ValueId,
};
use smallvec::SmallVec;

/// Attributes of the custom call that are not copied to `chlo.top_k`, since they describe the call.
const DESCRIPTION: [&str; 5] =
    ["mhlo.attributes", "mhlo.version", "mhlo.backend_config", "backend_config", "called_computations"];

/// Whether a custom call of this name takes the largest elements.
pub(super) fn is_target(target: &str) -> bool {
    matches!(target, "mhlo.topk" | "TopK")
}

/// Inserts the `chlo.top_k` for a custom call and returns its results; `None` if the call is not replaced.
pub(super) fn decompose(rw: &mut Rewriter<'_>, op: OpId) -> Option<SmallVec<[ValueId; 3]>> {
    let module = &*rw.module;
    let data = &module.ops[op];
    let OpKind::CustomCall(spec) = &data.kind else { return None };
    let (&[operand], &[values, indices]) = (data.operands.as_slice(), data.results.as_slice()) else {
        return None;
    };
    let [from, largest, places] = [operand, values, indices].map(|value| module.tensor(value));
    let (from, largest, places) = (from?, largest?, places?);
    let last = from.rank().checked_sub(1)?;
    let k = *largest.shape.get(last)?;
    let mut shape = from.shape.to_vec();
    shape[last] = k;
    let fits = largest.shape.as_slice() == shape
        && places.shape.as_slice() == shape
        && from.is_static()
        && largest.is_static()
        && k <= from.shape[last]
        && largest.dtype == from.dtype
        && places.dtype == DType::I32;
    if !fits || ![&spec.props, &data.attrs].into_iter().all(|attrs| takes_largest(module, attrs)) {
        return None;
    }
    let types: SmallVec<[TypeId; 2]> = [values, indices].iter().map(|&v| module.values[v].ty).collect();
    let mut attrs = data.attrs.clone();
    attrs.retain(|name| !DESCRIPTION.contains(&name));
    let top = rw.op(OpKind::TopK { k, stable: None }, &[operand], &types, &[]);
    rw.module.ops[top].attrs = attrs;
    Some(rw.module.ops[top].results.iter().copied().collect())
}

/// Whether no attribute of a call selects the smallest elements.
fn takes_largest(module: &Module, attrs: &AttrDict) -> bool {
    let asks_for_smallest = |name: &str| match attrs.get(name) {
        Some(Attr::Dict(inner)) => inner.get("largest") == Some(&Attr::Bool(false)),
        _ => false,
    };
    if DESCRIPTION.into_iter().any(asks_for_smallest) {
        return false;
    }
    match attrs.get("called_computations") {
        Some(Attr::Array(list)) => list.iter().all(|name| is_greater_than(module, name)),
        None => true,
        Some(_) => false,
    }
}

/// Whether a function computes `first > second` of its two arguments.
fn is_greater_than(module: &Module, name: &Attr) -> bool {
    let Attr::Symbol(name) = name else { return false };
    let Some(body) = module.func_names.get(name).and_then(|&func| module.funcs[func].body) else {
        return false;
    };
    let compare = module.terminator(body).and_then(|end| {
        let &[returned] = module.ops[end].operands.as_slice() else { return None };
        module.def_op(returned)
    });
    let argument = |value: ValueId| match module.values[value].def() {
        ValueDef::Arg(region, i) if region == body => Some(i),
        ValueDef::Arg(..) | ValueDef::Result(..) => None,
    };
    compare.is_some_and(|compare| {
        let data = &module.ops[compare];
        let order: Vec<Option<u32>> = data.operands.iter().map(|&v| argument(v)).collect();
        match data.kind {
            OpKind::Compare(CompareDirection::GT, _) => order == [Some(0), Some(1)],
            OpKind::Compare(CompareDirection::LT, _) => order == [Some(1), Some(0)],
            _ => false,
        }
    })
}
