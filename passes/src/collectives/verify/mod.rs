//! The collective verifier: the conditions that a partitioned program must satisfy.
//!
//! Back ends do not check the replica groups of a program: a wrong group aborts or hangs the process. Therefore
//! every program is verified, after all other passes. A violation is always a bug in shardc.
//!
//! Condition on the planned program, which has global shapes (`pending`):
//!
//! * **C1** (SH0464) Unreduced values. An unreduced value is produced by an operation that contracts or reduces sharded dimensions, is
//!   used only by linear operations, and is reduced once.
//!
//! Conditions on the localized program:
//!
//! * **C2** (SH0460) Devices. The groups of a collective partition the devices; the pairs of a permute send and
//!   receive at most once. Ids match the SPMD mode: in partition mode, each collective has its own channel; in replica mode, none.
//! * **C3** (SH0461) Shapes. The result shape of a collective follows from its operand and groups.
//! * **C4** (SH0462) Convergence. The devices of a group execute a collective the same number of times on every control-flow
//!   path (`convergence`).
//! * **C5** (SH0463) Interface. `local shape x shards - padding = global shape` for each parameter and result, with
//!   fewer padding elements than shards. Donated memory has the size of the result that reuses it.

mod agreement;
mod convergence;
mod coordinates;
mod enumerated;
mod interface;
mod numbers;
mod pending;
mod relations;
mod written;

use std::collections::BTreeMap;

use shardc_ir::{
    Diagnostic, FuncId, Module, OpId, OpKind, RegionId, SpmdMode, check_result_types, collective_fault,
};

pub use self::convergence::axes_results_vary_along;
pub(crate) use self::pending::verify_pending;
pub(crate) use self::written::written_partings;
use super::devices;
use crate::sharding::interface::Interface;
use crate::sharding::signature::Signatures;

/// Checks a localized program. Without an interface, parameters are assumed to be equal on all devices.
///
/// # Errors
/// Returns every violation of C2 to C5, in program order for each condition.
pub fn verify_collectives(
    module: &Module,
    func: FuncId,
    interface: Option<&Interface>,
) -> Result<(), Vec<Diagnostic>> {
    verify_with_calls(module, func, interface, &Signatures::default())
}

/// Checks a localized program that calls separately partitioned functions with the given signatures. All
/// devices must execute such a call together. Its results are equal on devices with the same blocks.
///
/// # Errors
/// Returns the same errors as [`verify_collectives`].
pub(crate) fn verify_with_calls(
    module: &Module,
    func: FuncId,
    interface: Option<&Interface>,
    signatures: &Signatures,
) -> Result<(), Vec<Diagnostic>> {
    let Some((mode, devices)) = devices(module) else {
        let message = "the module does not specify its number of devices";
        return Err(vec![Diagnostic::invalid("SH0460", message).hint(
            "partition the program first, or set mhlo.num_replicas and mhlo.num_partitions, one of them to 1",
        )]);
    };
    left_alone(module, func, mode)?;
    let mut errors = Vec::new();
    if let Some(body) = module.funcs[func].body {
        each_collective(module, body, mode, &mut errors);
    }
    if let Some(interface) = interface {
        interface::check(module, func, interface, devices, &mut errors);
    }
    // Convergence is checked only if all groups are valid, since it is undefined for invalid groups.
    if errors.is_empty() {
        convergence::check(module, func, interface, signatures, devices, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks the collectives of functions other than the entry function. These functions are not partitioned, so an
/// invalid collective is an error in the program, not in shardc.
///
/// # Errors
/// Returns `SH0304` for each collective that would be invalid in the partitioned program.
fn left_alone(module: &Module, entry: FuncId, mode: SpmdMode) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let name = &module.funcs[entry].name;
    for (id, func) in module.funcs.iter() {
        let Some(body) = func.body.filter(|_| id != entry) else { continue };
        let mut faults = Vec::new();
        each_collective(module, body, mode, &mut faults);
        errors.extend(faults.into_iter().map(|fault| {
            let message = format!("in @{}, which is not partitioned: {}", func.name, fault.message);
            let hint =
                format!("only @{name} and its callees are partitioned: call the function, or remove it");
            let mut error = Diagnostic::unsupported("SH0304", message).at(fault.span).hint(hint);
            error.user_loc = fault.user_loc;
            error
        }));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks C2 and C3.
fn each_collective(module: &Module, body: RegionId, mode: SpmdMode, errors: &mut Vec<Diagnostic>) {
    let mut channels: BTreeMap<i64, OpId> = BTreeMap::new();
    for op in module.walk(body) {
        let data = &module.ops[op];
        let Some(spec) = data.kind.collective() else { continue };
        let name = data.kind.name();
        if let Some(fault) = collective_fault(module, op) {
            errors.push(broken(module, op, "SH0460", fault));
        }
        let takes_global_ids = matches!(
            data.kind,
            OpKind::AllReduce(_) | OpKind::AllGather { .. } | OpKind::ReduceScatter { .. }
        );
        match (mode, spec.channel) {
            (SpmdMode::Replica, None) if !spec.use_global_device_ids => {}
            (SpmdMode::Replica, _) => {
                let message =
                    format!("{name} has a channel or use_global_device_ids, but devices are replicas");
                errors.push(broken(module, op, "SH0460", message));
            }
            (SpmdMode::Partition, Some(channel))
                if spec.crosses_partitions() && spec.use_global_device_ids == takes_global_ids =>
            {
                if channels.insert(channel.handle, op).is_some() {
                    let message = format!("{name} shares channel {} with another collective", channel.handle);
                    errors.push(broken(module, op, "SH0460", message));
                }
            }
            (SpmdMode::Partition, _) => {
                let message = format!("the replica groups of {name} must list partition ids");
                errors.push(broken(module, op, "SH0460", message));
            }
        }
        if let Err(fault) = check_result_types(module, op) {
            errors.push(broken(module, op, "SH0461", fault.to_string()));
        } else if let Some(fault) = exchanged_size(module, op) {
            errors.push(broken(module, op, "SH0461", fault));
        }
    }
}

/// Returns the error in the size of an all-gather or reduce-scatter. In an input program, a group may represent more devices than it
/// lists; in a localized program, it lists all of them.
fn exchanged_size(module: &Module, op: OpId) -> Option<String> {
    let data = &module.ops[op];
    let (dim, spec, gathers) = match &data.kind {
        OpKind::AllGather { dim, spec } => (*dim as usize, spec, true),
        OpKind::ReduceScatter { dim, spec } => (*dim as usize, spec, false),
        _ => return None,
    };
    let devices = spec.groups.first()?.len() as i64;
    data.operands.iter().zip(&data.results).find_map(|(&operand, &result)| {
        let (from, to) = (*module.shape(operand).get(dim)?, *module.shape(result).get(dim)?);
        let (part, whole) = if gathers { (from, to) } else { (to, from) };
        let fits = part < 0 || whole < 0 || part.checked_mul(devices) == Some(whole);
        (!fits).then(|| {
            format!(
                "{} over groups of {devices} devices must change the size of dimension {dim} by a factor of {devices}, got {from} to {to}",
                data.kind.name()
            )
        })
    })
}

/// Returns an internal error with the location of an operation.
fn broken(module: &Module, op: OpId, code: &'static str, message: String) -> Diagnostic {
    let mut error = Diagnostic::internal(code, message).at(module.ops[op].span);
    error.user_loc = module.user_loc(op);
    error
}
