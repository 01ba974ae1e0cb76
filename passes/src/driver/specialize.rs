//! Specializes a program with symbolic dimensions to given sizes.
//!
//! The pass makes the types of the entry function's parameters static, and refines the types in its body. Two kinds of functions are
//! inlined first: those with dimensions of unknown size, so that each call is refined separately, and those that compute sizes on small
//! integer tensors. Calls of other functions are kept.
//!
//! ```mlir
//! // before, with b = 64
//! func.func @main(%arg0: tensor<?x4xf32>) -> tensor<?x4xf32> {
//!   %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
//!   %1 = call @f(%0, %arg0) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
//! // after
//! func.func @main(%arg0: tensor<64x4xf32>) -> tensor<64x4xf32> {
//!   %0 = stablehlo.tanh %arg0 : tensor<64x4xf32>
//! ```

use shardc_ir::{DTypeClass, DYNAMIC, Diagnostic, FuncId, Module, OpKind, SecondaryMap, TypeId};

use super::symbolic::bind;
use crate::analysis::symbols::drop_unused_funcs;
use crate::annotations::dims::DimSize;
use crate::transforms::dce::dce;
use crate::transforms::inline::{callees_first, inline_except};
use crate::transforms::refine_shapes::{has_unknown_shapes, refine_shapes};

/// The maximum number of elements of a tensor that is part of a shape computation.
const MAX_ELEMENTS: i64 = 64;

/// Binds the symbolic dimensions of the entry function to the sizes `sizes`, and refines all shapes that depend on them. If the parameters
/// of the entry function are static, no sizes are needed. A program without dimensions of unknown size is unchanged.
///
/// # Errors
/// Returns an error if a size is missing (SH0351), names an unknown dimension (SH0350) or contradicts another size (SH0353), if a shape
/// assertion of the program fails (SH0352), or if calls are recursive.
pub fn specialize(module: &mut Module, sizes: &[DimSize]) -> Result<(), Vec<Diagnostic>> {
    let Some(entry) = module.entry() else { return Ok(()) };
    if !sizes.is_empty() {
        name_arguments(module, entry);
        bind(module, entry, sizes)?;
    }
    if !is_needed(module) {
        return Ok(());
    }
    name_arguments(module, entry);
    let order = callees_first(module)?;
    let dynamic = dynamic_functions(module, &order);
    let mut keep: SecondaryMap<FuncId, bool> = SecondaryMap::new();
    for &func in &order {
        keep[func] = !dynamic[func] && !computes_sizes(module, func);
    }
    inline_except(module, &order, &keep, None)?;
    refine_shapes(module, entry)?;
    if let Some(body) = module.funcs[entry].body {
        dce(module, body);
    }
    drop_unused_funcs(module, Some(entry));
    Ok(())
}

/// Whether the entry function has static parameters, and dimensions of unknown size in its body or in functions that it calls.
#[must_use]
pub fn is_needed(module: &Module) -> bool {
    let Some(entry) = module.entry() else { return false };
    let is_static = module.funcs[entry].params.iter().all(|&ty| is_static(module, ty));
    // With recursive calls there is no callees-first order of functions; `inline` reports such calls.
    is_static && callees_first(module).is_ok_and(|order| dynamic_functions(module, &order)[entry])
}

fn is_static(module: &Module, ty: TypeId) -> bool {
    module.types.shape_of(ty).is_none_or(|shape| !shape.contains(&DYNAMIC))
}

/// Returns for each function whether it or one of its callees has dimensions of unknown size.
fn dynamic_functions(module: &Module, callees_first: &[FuncId]) -> SecondaryMap<FuncId, bool> {
    let mut dynamic: SecondaryMap<FuncId, bool> = SecondaryMap::new();
    for &func in callees_first {
        let Some(body) = module.funcs[func].body else { continue };
        let calls_dynamic = |op| {
            let name = match &module.ops[op].kind {
                OpKind::Call { callee } => callee,
                OpKind::Composite(spec) => &spec.decomposition,
                _ => return false,
            };
            module.func_names.get(name).is_some_and(|&callee| dynamic[callee])
        };
        let is_dynamic = has_unknown_shapes(module, body) || module.walk(body).into_iter().any(calls_dynamic);
        dynamic[func] = is_dynamic;
    }
    dynamic
}

/// Whether all parameters and results of a function are small tensors of integers or booleans.
fn computes_sizes(module: &Module, func: FuncId) -> bool {
    let data = &module.funcs[func];
    data.params.iter().chain(&data.results).all(|&ty| {
        module.types.as_tensor(ty).is_some_and(|ty| {
            matches!(ty.dtype.class(), DTypeClass::Signed | DTypeClass::Unsigned | DTypeClass::Bool)
                && ty.num_elements().is_some_and(|n| n <= MAX_ELEMENTS)
        })
    })
}

/// Names unnamed parameters of the entry function after the parameters of the callee that receives them: the entry function
/// of a JAX export only checks shapes and calls the exported function.
fn name_arguments(module: &mut Module, entry: FuncId) {
    let data = &module.funcs[entry];
    let Some(body) = data.body else { return };
    let params = module.regions[body].args.clone();
    let mut locs = data.arg_locs.clone();
    locs.resize(params.len(), None.into());
    for &op in &module.regions[body].ops {
        let OpKind::Call { callee } = &module.ops[op].kind else { continue };
        let Some(&callee) = module.func_names.get(callee) else { continue };
        let callee = &module.funcs[callee];
        for (i, operand) in module.ops[op].operands.iter().enumerate() {
            let Some(place) = params.iter().position(|param| param == operand) else { continue };
            let has_name = data.argument_name(&module.locs, place).is_some();
            if let Some(&loc) = callee.arg_locs.get(i)
                && !has_name
                && callee.argument_name(&module.locs, i).is_some()
            {
                locs[place] = loc;
            }
        }
    }
    if locs.iter().any(|loc| loc.is_some()) {
        module.funcs[entry].arg_locs = locs;
    }
}
