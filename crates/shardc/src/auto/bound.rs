//! A lower bound on the time of one execution, for all shardings of a program.

use shardc_ir::{FuncId, Mesh, Module, OpId, OpKind};
use shardc_passes::annotations::forget::forget_shardings;
use shardc_passes::cost::time::ideal_seconds;
use shardc_target::Target;

use super::problem::Problem;

/// A lower bound, and what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// Seconds.
    pub(super) seconds: f64,
    pub(super) reason: &'static str,
}

/// Returns the larger of these bounds, neither of which depends on a sharding; `None` if neither is known or the program cannot be partitioned:
///
/// * The matrix products of the program, divided evenly among the devices, at peak rates.
/// * The arguments that an operation reads whole, and the results that an operation writes whole, once through memory. Each device has at least its
///   share of each.
///
/// They are those of the program for one device, from which unused and equal operations were removed. If the compiler simplifies operations
/// further for a sharding, so that its estimate `fastest` is below both, no bound is known.
pub(super) fn bound(problem: &Problem, fastest: f64) -> Option<Bound> {
    let mut module = problem.module.clone();
    forget_shardings(&mut module).ok()?;
    module.add_mesh("mesh", Mesh::new([("data", 1)]));
    let module = problem.compiler.partition_module(module).ok()?.module;
    let bound = of_program(&module, module.entry()?, &problem.target);
    (bound.seconds > 0.0 && bound.seconds <= fastest).then_some(bound)
}

fn of_program(module: &Module, func: FuncId, target: &Target) -> Bound {
    let Some(body) = module.funcs[func].body else {
        return Bound { seconds: 0.0, reason: "an empty program" };
    };
    let devices = target.num_devices() as f64;
    let compute = ideal_seconds(module, func, target.spec()) / devices;
    let uses = module.uses();
    let bytes = |value| {
        module.stored(value).map_or(0.0, |ty| {
            ty.shape.iter().map(|&n| n.max(0) as f64).product::<f64>() * f64::from(ty.dtype.bits()) / 8.0
        })
    };
    let region = &module.regions[body];
    let returned = module.terminator(body);
    let is_read = |arg| uses.of(arg).iter().any(|&(op, _)| Some(op) != returned && is_whole(module, op));
    let read = region.args.iter().filter(|&&arg| is_read(arg));
    let read: f64 = read.map(|&arg| bytes(arg)).sum();
    let results = returned.map(|end| module.ops[end].operands.as_slice()).unwrap_or_default();
    let written =
        results.iter().filter(|&&value| module.def_op(value).is_some_and(|op| is_whole(module, op)));
    let written: f64 = written.map(|&value| bytes(value)).sum();
    let memory = (read + written) / (devices * target.spec().bandwidth);
    if compute >= memory {
        Bound { seconds: compute, reason: "matrix products on all devices at the peak rate" }
    } else {
        Bound { seconds: memory, reason: "arguments and results through memory once, on all devices" }
    }
}

/// Whether an operation reads all elements of its operands, and writes all elements of its results, instead of slices or in place.
fn is_whole(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let is_slice = matches!(
        data.kind,
        OpKind::Gather(_)
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
            | OpKind::Scatter(_)
            | OpKind::Call { .. }
            | OpKind::While
            | OpKind::Case
            | OpKind::If
            | OpKind::ManualComputation(_)
    );
    !is_slice
}
