//! Linearization of regions that run once: named computations, including outlined calls.

use shardc_ir::{Build, Diagnostic, OpKind, TypeId, ValueId, ValueMap, clone_region};
use smallvec::SmallVec;

use super::{At, Nested, Rule, Tangents};

/// Linearizes the region; the tape gets an operation that runs the region's tape.
pub(super) fn named_computation(at: &mut At<'_, '_>) -> Result<Tangents, Box<Diagnostic>> {
    let captured = at.linear.captured(at.op);
    let (region, operands, results) = {
        let data = &at.linear.module.ops[at.op];
        (data.regions[0], data.operands.clone(), data.results.clone())
    };
    let args = at.linear.module.regions[region].args.clone();
    let mut tangents: SmallVec<[ValueId; 4]> = SmallVec::new();
    for (&arg, &operand) in args.iter().zip(&operands) {
        if let Some(tangent) = at.linear.tangent(operand) {
            at.linear.set_tangent(arg, tangent);
            tangents.push(tangent);
        }
    }
    tangents.extend(captured.iter().filter_map(|&v| at.linear.tangent(v)));
    tangents.sort_unstable();
    tangents.dedup();
    let tape = at.linear.region(region)?;
    let types: Vec<TypeId> = results.iter().map(|&v| at.linear.module.values[v].ty).collect();
    let (kind, op) = (at.kind(), at.op);
    let whole = at.tape().op(kind, &tangents, &types, &[]);
    let made = at.linear.module.ops[whole].results.clone();
    let out = made.iter().zip(&tape.returned).map(|(&v, t)| t.map(|_| v)).collect();
    at.linear.nested.insert(whole, Nested::Once { op, tape });
    Ok(out)
}

/// Turns a call of a checkpointed function into a named computation.
pub(super) fn call(at: &mut At<'_, '_>, callee: &str) -> Option<Rule> {
    let func = *at.linear.module.func_names.get(callee)?;
    let body = at.linear.module.funcs[func].body?;
    let region = clone_region(at.linear.module, body, &mut ValueMap::new());
    let data = &at.linear.module.ops[at.op];
    let (operands, results) = (data.operands.clone(), data.results.clone());
    let types: Vec<TypeId> = results.iter().map(|&v| at.linear.module.values[v].ty).collect();
    let spec = shardc_ir::NamedSpec { name: callee.into(), in_shardings: None, out_shardings: None };
    let op = at.primal().op(OpKind::NamedComputation(Box::new(spec)), &operands, &types, &[region]);
    Some(Rule::Instead(at.linear.module.ops[op].results.to_vec()))
}
