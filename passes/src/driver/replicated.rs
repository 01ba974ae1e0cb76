//! Warns about programs that have a sharded argument, but in which no operation is partitioned.

use shardc_ir::{Class, Diagnostic, Module, OpKind, RegionId, ValueId};

use crate::analysis::regions::{has_program_regions, program_ops};

/// Returns a warning (`SH0913`) if an argument of a planned program is sharded, but every device does all computation. Conditions:
///
/// * an argument is sharded (an unreduced argument does not count);
/// * all operands and results of all operations are replicated, apart from those of reshards and of control flow;
/// * at least one operation computes something: constants, iotas, reshards and returns do not count;
/// * the program has no manual computation.
pub(crate) fn all_replicated(module: &Module, body: RegionId) -> Option<Diagnostic> {
    let split = |value: ValueId| {
        let sharding = module.shardings.sharding_of(value)?;
        (!sharding.is_unsplit() || !sharding.unreduced.is_empty()).then_some(sharding)
    };
    let args = &module.regions[body].args;
    let (arg, sharding) = args.iter().enumerate().find_map(|(i, &arg)| {
        // An unreduced argument does not count as sharded: its partial sums do not divide the computation.
        Some((i, split(arg).filter(|sharding| !sharding.is_unsplit())?))
    })?;
    let mut works = false;
    for op in program_ops(module, body) {
        let data = &module.ops[op];
        match &data.kind {
            // The body of a manual computation is already written for one device.
            OpKind::ManualComputation(_) => return None,
            OpKind::Return | OpKind::Reshard(_) | OpKind::Constant(_) | OpKind::Iota { .. } => {}
            kind if has_program_regions(kind) => {}
            _ if data.operands.iter().chain(&data.results).any(|&value| split(value).is_some()) => {
                return None;
            }
            _ => works = true,
        }
    }
    if !works {
        return None;
    }
    let mesh = &module.meshes[sharding.mesh];
    let message = format!(
        "no operation is partitioned although argument {arg} is sharded {}: each of {} devices does all the computation",
        sharding.display(mesh),
        mesh.num_devices(),
    );
    let func = module.funcs.values().find(|func| func.body == Some(body))?;
    Some(Diagnostic::warning(Class::InvalidInput, "SH0913", message).at(func.arg_span(arg)).hint(
        "shard a dimension along which operations can be partitioned, or constrain a value inside the program (sdy.sharding_constraint)",
    ))
}
