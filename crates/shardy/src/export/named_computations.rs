//! `sdy-export-named-computations`: outlines each named computation as a private function, and replaces it by a call.

use shardc_ir::{
    Attr, AttrDict, Func, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ValueId, Visibility,
};
use shardc_passes::internal::access::ShardingAccess;
use shardc_passes::internal::call_graph::{EXECUTION_THREAD, ORIGINAL_FUNC_NAME};
use shardc_passes::internal::symbols::FreshNames;

use super::super::edges;

/// Outlines the named computations of all functions, inner ones first. Function arguments and call results get the shardings of
/// the computation, or those of its data-flow edges.
pub(super) fn export(module: &mut Module) {
    let places = ShardingAccess::new(module);
    let mut names = FreshNames::default();
    let mut exported: SecondaryMap<ValueId, bool> = SecondaryMap::new();
    let bodies: Vec<RegionId> = module.bodies().collect();
    for &body in &bodies {
        for op in module.walk_inner_first(body) {
            if matches!(module.ops[op].kind, OpKind::NamedComputation(_)) {
                export_one(module, &places, &mut names, &mut exported, op);
            }
        }
    }
    let is_edge = |module: &Module, op: OpId| {
        matches!(module.ops[op].kind, OpKind::DataFlowEdge(_))
            && module.ops[op].operands.first().is_some_and(|&owner| exported[owner])
    };
    for body in module.bodies().collect::<Vec<_>>() {
        edges::remove(module, body, is_edge);
    }
}

fn export_one(
    module: &mut Module,
    places: &ShardingAccess,
    names: &mut FreshNames,
    exported: &mut SecondaryMap<ValueId, bool>,
    op: OpId,
) {
    let OpKind::NamedComputation(spec) = module.ops[op].kind.clone() else { return };
    let Some(&body) = module.ops[op].regions.first() else { return };
    let args = module.regions[body].args.clone();
    let results = module.ops[op].results.clone();
    let in_shardings = places.of_edges(module, &args).or(spec.in_shardings);
    let out_shardings = places.of_edges(module, &results).or(spec.out_shardings);
    for &value in args.iter().chain(&results) {
        exported[value] = true;
    }
    for (&arg, id) in args.iter().zip(in_shardings.unwrap_or_default()) {
        module.shardings.set(arg, Some(id));
    }
    for (&result, id) in results.iter().zip(out_shardings.unwrap_or_default()) {
        module.shardings.set(result, Some(id));
    }
    let mut attrs = AttrDict::new();
    attrs.set(ORIGINAL_FUNC_NAME, Attr::Str(spec.name.clone()));
    if let Some(thread) = module.ops[op].attrs.remove(EXECUTION_THREAD) {
        attrs.set(EXECUTION_THREAD, thread);
    }
    let types =
        |module: &Module, values: &[ValueId]| values.iter().map(|&v| module.values[v].ty).collect::<Vec<_>>();
    let func = Func {
        name: names.make(module, &spec.name).into(),
        visibility: Visibility::Private,
        body: Some(body),
        params: types(module, &args),
        results: types(module, &results),
        arg_attrs: vec![AttrDict::new(); args.len()],
        res_attrs: vec![AttrDict::new(); results.len()],
        res_shardings: vec![PackedOption::default(); results.len()],
        arg_locs: std::mem::take(&mut module.regions[body].arg_locs),
        arg_names: Vec::new(),
        arg_spans: Vec::new(),
        res_spans: Vec::new(),
        attrs,
        span: module.ops[op].span,
        loc: module.ops[op].loc,
    };
    let callee = func.name.clone();
    module.add_func(func);
    module.ops[op].regions.clear();
    module.ops[op].kind = OpKind::Call { callee };
}
