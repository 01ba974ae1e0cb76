//! What is surely not meant, so that partitioning warns of it too.
//!
//! These are no errors, not even where gathers are: what comes out is right, and what is meant by a mesh is for the user to
//! say. `lint` has them as rules like all others, which can be denied.

use shardc_ir::{Class, Diagnostic, FuncId, Module, OpKind, RegionId, ValueId};

use super::subject::{Facts, Subject};
use super::{LintOptions, annotations, axes, uneven};
use crate::structure::{has_program_regions, program_ops};

/// Warnings of what an annotated program, whose calls are inlined, surely does not mean: a mesh along which nothing is split
/// (`SH0911`), and dimensions with fewer elements than parts (`SH0912`; of size one, `SH0903`).
#[must_use]
pub fn not_meant(module: &Module, func: FuncId) -> Vec<Diagnostic> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let (facts, options) = (Facts::new(module, body), LintOptions::default());
    let subject = Subject { module, base: module, func, body, facts: &facts, options: &options };
    let of = |code: &'static str, found: Vec<Diagnostic>| {
        found.into_iter().map(move |warning| Diagnostic { code, ..warning })
    };
    of("SH0911", axes::nothing_split(&subject))
        .chain(of("SH0912", uneven::more_parts_than_elements(&subject)))
        .chain(of("SH0903", annotations::of_size_one(&subject)))
        .collect()
}

/// A warning if an argument of a planned program is split, but all operations work on whole values, so that every device
/// does all the work (`SH0913`).
pub(crate) fn all_replicated(module: &Module, body: RegionId) -> Option<Diagnostic> {
    let split = |value: ValueId| {
        let sharding = module.shardings.sharding_of(value)?;
        (!sharding.is_unsplit() || !sharding.unreduced.is_empty()).then_some(sharding)
    };
    let args = &module.regions[body].args;
    let (arg, sharding) = args.iter().enumerate().find_map(|(i, &arg)| Some((i, split(arg)?)))?;
    let mut works = false;
    for op in program_ops(module, body) {
        let data = &module.ops[op];
        match &data.kind {
            // Its body is what each device does.
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
        "everything is replicated: argument {arg} is split {}, but no operation works on parts, so that each of {} devices does all the work",
        sharding.display(mesh),
        mesh.num_devices(),
    );
    let func = module.funcs.values().find(|func| func.body == Some(body))?;
    Some(Diagnostic::warning(Class::InvalidInput, "SH0913", message).at(func.arg_span(arg)).hint(
        "split a dimension that the operations can work on in parts, or constrain a value inside the program (sdy.sharding_constraint)",
    ))
}
