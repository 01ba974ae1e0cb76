//! `sdy-import-func-calls`: replaces calls by named computations.

use rustc_hash::FxHashMap;
use shardc_ir::discardable::SHARDING;
use shardc_ir::{
    Class, Diagnostic, FuncId, Module, NamedSpec, OpId, OpKind, PackedOption, RegionId, SPELLING_ATTR,
    ShardingId, TensorSharding, ValueId, ValueMap, clone_region,
};
use shardc_passes::driver::pass_options::PassOption;
use shardc_passes::driver::passes::PassResult;
use shardc_passes::internal::call_graph::{
    EXECUTION_THREAD, callee_of, callees_first, calls_in, original_name,
};
use shardc_passes::internal::check_calls;

use super::data_flow_edges;
use super::func_to_call::mesh_of;

/// Whether to add data-flow edges to the named computations.
pub(super) const ADD_EDGES: PassOption = PassOption::on("add-data-flow-edges-on-named-computations");

/// The code of the warning about a function with several calls.
pub(crate) const MANY_CALLS: &str = "SH0811";

/// Replaces each call by a named computation with the body and the name of the function, and removes the function. The first
/// call gets the body, other calls get clones.
pub(super) fn run(module: &mut Module, add_edges: bool) -> PassResult {
    check_calls(module)?;
    let mut importer = Importer::default();
    for caller in callees_first(module) {
        for call in calls_in(module, caller) {
            if let Some(func) = callee_of(module, call)
                && let Some(body) = module.funcs[func].body
            {
                importer.import(module, call, func, body);
            }
        }
    }
    let Importer { in_shardings, warnings } = importer;
    module.retain_funcs(|id, _| !in_shardings.contains_key(&id));
    if add_edges {
        data_flow_edges::add(module, |kind| matches!(kind, OpKind::NamedComputation(_)));
    }
    Ok(warnings)
}

#[derive(Default)]
struct Importer {
    /// The called functions, with the shardings of their parameters.
    in_shardings: FxHashMap<FuncId, Option<Vec<ShardingId>>>,
    warnings: Vec<Diagnostic>,
}

impl Importer {
    fn import(&mut self, module: &mut Module, call: OpId, func: FuncId, body: RegionId) {
        let (in_shardings, region) = match self.in_shardings.get(&func).cloned() {
            Some(in_shardings) => {
                self.warn(module, call, func);
                (in_shardings, clone_region(module, body, &mut ValueMap::new()))
            }
            None => {
                let in_shardings = take_body(module, func, body);
                self.in_shardings.insert(func, in_shardings.clone());
                (in_shardings, body)
            }
        };
        let results = module.ops[call].results.clone();
        let out_shardings = take_shardings(module, &results, |_| true);
        let name = original_name(&module.funcs[func]).into();
        let thread = module.funcs[func].attrs.get(EXECUTION_THREAD).cloned();
        let op = &mut module.ops[call];
        op.kind = OpKind::NamedComputation(Box::new(NamedSpec { name, in_shardings, out_shardings }));
        op.regions.push(region);
        for inherent in ["arg_attrs", "res_attrs", "no_inline", SHARDING] {
            op.attrs.remove(inherent);
        }
        if let Some(thread) = thread {
            op.attrs.set(EXECUTION_THREAD, thread);
        }
    }

    fn warn(&mut self, module: &Module, call: OpId, func: FuncId) {
        if self.warnings.is_empty() {
            let message = format!(
                "function @{} has multiple call ops, we need to clone the function body for each call",
                module.funcs[func].name
            );
            let warning = Diagnostic::warning(Class::InvalidInput, MANY_CALLS, message);
            self.warnings.push(warning.at(module.ops[call].span));
        }
    }
}

/// Turns the body of a function into the region of a named computation; removes and returns the shardings of the parameters.
fn take_body(module: &mut Module, func: FuncId, body: RegionId) -> Option<Vec<ShardingId>> {
    module.regions[body].arg_locs.clone_from(&module.funcs[func].arg_locs);
    if let Some(ret) = module.terminator(body) {
        module.ops[ret].attrs.remove(SPELLING_ATTR);
    }
    let args = module.regions[body].args.clone();
    take_shardings(module, &args, |mesh| !mesh.is_maximal())
}

/// Removes and returns the shardings of values, if any of them refers to a mesh for which `counts` holds; missing shardings become fully
/// open.
fn take_shardings(
    module: &mut Module,
    values: &[ValueId],
    counts: impl Fn(&shardc_ir::Mesh) -> bool,
) -> Option<Vec<ShardingId>> {
    let given: Vec<PackedOption<ShardingId>> =
        values.iter().map(|&value| module.shardings.of(value).into()).collect();
    for &value in values {
        module.shardings.set(value, None);
    }
    let mesh = mesh_of(module, &given, counts)?;
    let list = values.iter().zip(&given).map(|(&value, id)| match id.expand() {
        Some(id) => id,
        None => module.shardings.intern(TensorSharding::open(mesh, module.rank(value))),
    });
    Some(list.collect())
}
