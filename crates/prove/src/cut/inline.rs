//! Programs without calls, dead operations, and operations that return their operands.

use shardc_ir::rewrite::{ValueMap, clone_region};
use shardc_ir::{Module, OpId, OpKind, verify};

use super::extract::reached;
use crate::eval::is_identity;

/// The most operations after inlining.
const MOST: usize = 1 << 17;

/// The program with the bodies of called functions in its entry function, and without barriers, annotations and dead operations. If it
/// cannot be made, the program itself.
pub(crate) fn flat(module: &Module) -> Module {
    let mut flat = module.clone();
    flat.shardings.clear_values();
    match inlined(&mut flat) {
        Some(()) if verify(&flat).is_ok() => flat,
        _ => module.clone(),
    }
}

fn inlined(module: &mut Module) -> Option<()> {
    let entry = module.entry()?;
    let body = module.funcs[entry].body?;
    let mut map = ValueMap::new();
    let (mut open, mut done) = (module.regions[body].ops.to_vec(), Vec::new());
    open.reverse();
    while let Some(op) = open.pop() {
        if done.len() + open.len() > MOST {
            return None;
        }
        let data = &module.ops[op];
        let (operands, results) = (data.operands.clone(), data.results.clone());
        if is_copy(module, op) {
            results.iter().zip(&operands).for_each(|(&old, &new)| map.insert(old, new));
            continue;
        }
        let callee = match &data.kind {
            OpKind::Call { callee } => callee,
            OpKind::Composite(spec) => &spec.decomposition,
            _ => {
                done.push(op);
                continue;
            }
        };
        let func = *module.func_names.get(callee)?;
        let callee = module.funcs[func].body?;
        let copy = clone_region(module, callee, &mut ValueMap::new());
        let region = &module.regions[copy];
        let (args, mut ops) = (region.args.clone(), region.ops.to_vec());
        let end = ops.pop()?;
        let returned = module.ops[end].operands.clone();
        args.iter().zip(&operands).for_each(|(&old, &new)| map.insert(old, new));
        results.iter().zip(&returned).for_each(|(&old, &new)| map.insert(old, new));
        // Positions in the text are those of calls, which users see.
        open.extend(ops.into_iter().rev());
    }
    module.set_ops(body, done);
    map.resolve_all(module);
    module.retain_funcs(|func, _| func == entry);
    let end = module.terminator(body)?;
    let (mut live, _) = reached(module, &module.ops[end].operands, |_| false)?;
    live.push(end);
    module.set_ops(body, live);
    Some(())
}

/// Whether an operation returns its operands.
fn is_copy(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let is_identity = match &data.kind {
        OpKind::OptimizationBarrier
        | OpKind::ShardingConstraint(_)
        | OpKind::Reshard(_)
        | OpKind::PropagationBarrier { .. } => true,
        OpKind::CustomCall(spec) => is_identity(&spec.target),
        _ => false,
    };
    let ty = |value: &shardc_ir::ValueId| module.values[*value].ty;
    let has_types = || data.operands.iter().map(ty).eq(data.results.iter().map(ty));
    is_identity && has_types()
}
