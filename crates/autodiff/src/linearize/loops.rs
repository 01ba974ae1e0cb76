//! Linearization of `while`.

use rustc_hash::FxHashSet;
use shardc_ir::trip_count::known_trips;
use shardc_ir::{Build, Diagnostic, Module, OpId, OpKind, RegionId, ValueId};

use super::{At, LoopTape, Nested, Tangents};

/// Linearizes the body of a loop; the tape gets a loop over the body's tape.
pub(super) fn while_loop(at: &mut At<'_, '_>) -> Result<Tangents, Box<Diagnostic>> {
    carry_captured(at);
    let (op, num_carried) = (at.op, at.num_operands());
    let trips = known_trips(at.linear.module, op).and_then(|n| i64::try_from(n).ok());
    if trips == Some(0) {
        return Ok((0..num_carried).map(|i| at.tangent(i)).collect());
    }
    let body = at.linear.module.ops[op].regions[1];
    let carried = changing(at, body);
    let args: Vec<ValueId> = at.linear.module.regions[body].args.clone();
    let types: Vec<_> = carried.iter().map(|&i| at.linear.module.values[args[i]].ty).collect();
    // A temporary region, whose arguments are the tangents of the carried values.
    let scratch = at.linear.module.add_region(&types);
    let tangents = at.linear.module.regions[scratch].args.clone();
    for (&i, &tangent) in carried.iter().zip(&tangents) {
        at.linear.set_tangent(args[i], tangent);
    }
    let inits: Vec<Option<ValueId>> = carried.iter().map(|&i| at.tangent(i)).collect();
    let tape = at.linear.region(body)?;
    let operands: Vec<ValueId> = inits.iter().copied().flatten().collect();
    let whole = at.tape().op(OpKind::While, &operands, &types, &[]);
    let mut out: Tangents = std::iter::repeat_n(None, num_carried).collect();
    for (&i, &result) in carried.iter().zip(&at.linear.module.ops[whole].results) {
        out[i] = tape.returned[i].map(|_| result);
    }
    let tape = LoopTape { op, trips, carried, args: tangents, inits, tape };
    at.linear.nested.insert(whole, Nested::Loop(tape));
    Ok(out)
}

/// Makes captured values with tangents loop-carried.
fn carry_captured(at: &mut At<'_, '_>) {
    for value in at.linear.captured(at.op) {
        let (op, module) = (at.op, &mut *at.linear.module);
        let ty = module.values[value].ty;
        module.ops[op].operands.push(value);
        module.add_result(op, ty);
        for region in module.ops[op].regions.clone() {
            let arg = module.add_arg(region, ty);
            for inner in module.walk(region) {
                for operand in &mut module.ops[inner].operands {
                    if *operand == value {
                        *operand = arg;
                    }
                }
            }
        }
        let body = module.ops[op].regions[1];
        if let (Some(end), Some(&arg)) = (module.terminator(body), module.regions[body].args.last()) {
            module.ops[end].operands.push(arg);
        }
    }
}

/// Returns the indices of the carried values that have a tangent at the start of some iteration.
fn changing(at: &At<'_, '_>, body: RegionId) -> Vec<usize> {
    let module = &*at.linear.module;
    let args = &module.regions[body].args;
    let Some(end) = module.terminator(body) else { return Vec::new() };
    let returned = &module.ops[end].operands;
    let mut is_changing: Vec<bool> = (0..args.len()).map(|i| at.tangent(i).is_some()).collect();
    loop {
        let mut changed: FxHashSet<ValueId> =
            args.iter().zip(&is_changing).filter(|(_, is)| **is).map(|(&v, _)| v).collect();
        reach(at, module, body, &mut changed);
        let next: Vec<bool> = returned
            .iter()
            .zip(&is_changing)
            .map(|(v, &was)| was || changed.contains(v) && at.can_change(*v))
            .collect();
        if next == is_changing {
            break;
        }
        is_changing = next;
    }
    is_changing.iter().enumerate().filter(|(_, is)| **is).map(|(i, _)| i).collect()
}

/// Adds to `changed` the differentiable results of operations in `region` that depend on values in `changed`.
fn reach(at: &At<'_, '_>, module: &Module, region: RegionId, changed: &mut FxHashSet<ValueId>) {
    for &op in &module.regions[region].ops {
        let data = &module.ops[op];
        let inside = || data.regions.iter().flat_map(|&r| module.walk(r)).collect::<Vec<OpId>>();
        let reads = |op: &OpId| module.ops[*op].operands.iter().any(|v| changed.contains(v));
        if reads(&op) || inside().iter().any(reads) {
            changed.extend(data.results.iter().copied().filter(|&v| at.can_change(v)));
        }
    }
}
