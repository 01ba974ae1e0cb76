//! Private functions of custom derivatives.

use shardc_ir::{EntityRef, Func, FuncId, Module, RegionId, TypeId, ValueMap, clone_region};

use crate::graph::types_of;

/// Creates a private function from a region without captures.
pub(super) fn function(module: &mut Module, name: &str, body: RegionId) -> FuncId {
    let params = types_of(module, &module.regions[body].args);
    let returned = module.terminator(body).map(|end| module.ops[end].operands.to_vec()).unwrap_or_default();
    let results = types_of(module, &returned);
    module.add_func(Func::private(name, body, params, results))
}

/// Returns a copy of a region that returns only the first `n` values.
pub(super) fn first_results(module: &mut Module, region: RegionId, n: usize) -> RegionId {
    let copy = clone_region(module, region, &mut ValueMap::new());
    if let Some(end) = module.terminator(copy) {
        module.ops[end].operands.truncate(n);
    }
    copy
}

/// Returns the identity function for values of type `ty`, and creates the function if the module lacks it.
pub(super) fn identity(module: &mut Module, ty: TypeId) -> FuncId {
    let name = format!("same_{}", ty.index());
    if let Some(&func) = module.func_names.get(name.as_str()) {
        return func;
    }
    let body = module.add_region(&[ty]);
    let args = module.regions[body].args.clone();
    let end = module.add_op(shardc_ir::OpKind::Return, &args, &[], &[]);
    module.set_ops(body, vec![end]);
    function(module, &name, body)
}
