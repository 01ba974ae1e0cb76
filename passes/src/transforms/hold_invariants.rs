//! Hold invariants: gives what loops in loops carry unchanged an operation that can be marked.
//!
//! In a program of partitions every operation is marked `{manual}`, and XLA's exporter from StableHLO to HLO takes the sharding of
//! what a loop captures from the operation that makes it. It turns whatever a loop carries unchanged into a capture first. An
//! argument of the loop around has no mark: the exporter calls it replicated, while the arguments of the inner loop are manual, and
//! the verifier refuses the program ("Inconsistent while sharding among instructions", jaxlib 0.10.2 and 0.12.0.1).
//!
//! Such an argument passes through an `optimization_barrier`, which is an operation of its own and the identity.
//!
//! ```mlir
//! %0:2 = stablehlo.while(%a = %x, %i = %zero) ... do {
//!   %1:2 = stablehlo.while(%b = %a, %j = %zero) ... do { ... stablehlo.return %b, %k }
//! ```
//! becomes
//! ```mlir
//! %0:2 = stablehlo.while(%a = %x, %i = %zero) ... do {
//!   %held = stablehlo.optimization_barrier %a
//!   %1:2 = stablehlo.while(%b = %held, %j = %zero) ... do { ... stablehlo.return %b, %k }
//! ```

use shardc_ir::discardable::GSPMD_SHARDING;
use shardc_ir::{Attr, Build, Module, OpId, OpKind, RegionId, Rewriter, ValueDef, ValueId};

/// Holds the invariants of all loops in loops, in a program of several partitions.
pub fn hold_invariants(module: &mut Module) {
    if module.num_partitions() <= Some(1) {
        return;
    }
    let bodies: Vec<RegionId> = module.bodies().collect();
    let mut rw = Rewriter::new(module);
    for &body in &bodies {
        rw.each_op(body, &mut |rw, op| {
            if !matches!(rw.module.ops[op].kind, OpKind::While) {
                return;
            }
            for i in invariants(rw.module, op) {
                let value = rw.module.ops[op].operands[i];
                if is_argument_of_a_loop(rw.module, value, &bodies) {
                    let ty = rw.module.values[value].ty;
                    let held = rw.op1(OpKind::OptimizationBarrier, &[value], ty);
                    if let Some(barrier) = rw.module.def_op(held) {
                        rw.module.ops[barrier].attrs.set(GSPMD_SHARDING, Attr::Str("{manual}".into()));
                    }
                    rw.module.ops[op].operands[i] = held;
                }
            }
        });
    }
}

/// The operands of a loop that its body returns as they are.
fn invariants(module: &Module, op: OpId) -> Vec<usize> {
    let &[_, body] = module.ops[op].regions.as_slice() else { return Vec::new() };
    let Some(end) = module.terminator(body) else { return Vec::new() };
    let returned = &module.ops[end].operands;
    let args = &module.regions[body].args;
    (0..module.ops[op].operands.len())
        .filter(|&i| returned.get(i).is_some() && returned.get(i) == args.get(i))
        .collect()
}

/// Whether a value is an argument of a region within a function: what functions take is marked.
fn is_argument_of_a_loop(module: &Module, value: ValueId, bodies: &[RegionId]) -> bool {
    matches!(module.values[value].def(), ValueDef::Arg(region, _) if !bodies.contains(&region))
}
