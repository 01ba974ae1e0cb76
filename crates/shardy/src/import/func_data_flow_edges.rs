//! `sdy-add-func-data-flow-edges`: adds data-flow edges at the boundaries of functions.

use shardc_ir::{Module, OpKind};
use shardc_passes::driver::passes::PassResult;

use super::edges::Edges;

/// Adds a data-flow edge, with the value's sharding, to every parameter of every function except the entry, and to every call result.
pub(super) fn run(module: &mut Module) -> PassResult {
    let Some(entry) = module.entry() else { return Err(vec![module.no_entry()]) };
    let mut edges = Edges::default();
    for func in module.funcs.keys().collect::<Vec<_>>() {
        let Some(body) = module.funcs[func].body else { continue };
        let mut values = Vec::new();
        if func != entry {
            let at = (module.funcs[func].span, module.funcs[func].loc);
            values.extend(module.regions[body].args.iter().map(|&arg| (arg, at)));
        }
        for op in module.walk(body) {
            let op = &module.ops[op];
            if matches!(op.kind, OpKind::Call { .. }) {
                values.extend(op.results.iter().map(|&result| (result, (op.span, op.loc))));
            }
        }
        for (value, at) in values {
            if let Some(result) = edges.add(module, value, OpKind::FuncDataFlowEdge, at) {
                module.shardings.set(result, module.shardings.of(value));
            }
        }
    }
    let bodies = module.bodies().collect();
    edges.place(module, bodies);
    Ok(Vec::new())
}
