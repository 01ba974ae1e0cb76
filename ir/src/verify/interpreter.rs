//! Verifies invariant I16 for `interpreter.run_parallel`: the programs exist, and the types of inputs and results match. Tests of
//! StableHLO's reference interpreter run programs on several devices with this operation.

use super::Report;
use super::codes::ATTRIBUTE;
use crate::{Attr, Func, Module, OpId, OpKind, Type};

/// The name of the operation that is verified.
const RUN_PARALLEL: &str = "interpreter.run_parallel";

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    let module = report.module;
    let op = &module.ops[id];
    let OpKind::Opaque(spec) = &op.kind else { return };
    if *spec.name != *RUN_PARALLEL {
        return;
    }
    let attr = |name: &str| spec.props.get(name).or_else(|| op.attrs.get(name));
    let found = programs(module, id, attr("programs")).and_then(|()| match attr("infeed") {
        Some(names) => infeed(module, names),
        None => Ok(()),
    });
    if let Err(message) = found {
        report.hinted(ATTRIBUTE, id, format!("{RUN_PARALLEL} {message}"), None);
    }
}

/// Checks that every replica has a program for each partition, and that the operation's inputs and results are those of all programs
/// together, in order.
fn programs(module: &Module, id: OpId, attr: Option<&Attr>) -> Result<(), String> {
    let Some(Attr::Array(replicas)) = attr else {
        return Err("has no list of programs; add programs = [[@name, ...], ...]".to_owned());
    };
    let mut size = None;
    let (mut inputs, mut results) = (0, 0);
    for replica in replicas {
        let Attr::Array(names) = replica else {
            return Err(
                "needs a list of programs for each replica: programs = [[@name, ...], ...]".to_owned()
            );
        };
        let size = *size.get_or_insert(names.len());
        if names.len() != size {
            return Err(format!("has {size} programs for one replica and {} for another", names.len()));
        }
        for name in names {
            // If the type of a program is unknown, inputs and results cannot be counted.
            let Some(func) = function(module, name)? else { return Ok(()) };
            inputs += func.params.len();
            results += func.results.len();
        }
    }
    if size.is_none_or(|size| size == 0) {
        return Err("has no programs".to_owned());
    }
    let op = &module.ops[id];
    for (what, have, want) in [("inputs", op.operands.len(), inputs), ("results", op.results.len(), results)]
    {
        if have != want {
            return Err(format!("has {have} {what}, but its programs have {want}"));
        }
    }
    Ok(())
}

/// Checks that each function returns one tensor for the infeed.
fn infeed(module: &Module, attr: &Attr) -> Result<(), String> {
    let Attr::Array(names) = attr else {
        return Err("needs a list of functions as infeed: infeed = [@name, ...]".to_owned());
    };
    if names.is_empty() {
        return Err("has an infeed without functions; remove it".to_owned());
    }
    for name in names {
        let Some(func) = function(module, name)? else { continue };
        let is_tensor = |ty| matches!(module.types.get(ty), Type::Tensor(_) | Type::Quantized(_));
        if !matches!(func.results[..], [one] if is_tensor(one)) {
            return Err(format!("has the infeed function @{}, which must return one tensor", func.name));
        }
    }
    Ok(())
}

/// Returns the function with this name. Returns `None` if it is not found, but may be in a part of the module that is kept as text.
fn function<'m>(module: &'m Module, name: &Attr) -> Result<Option<&'m Func>, String> {
    let Attr::Symbol(name) = name else {
        return Err("has a function that is not written as @name".to_owned());
    };
    match module.func_names.get(name) {
        Some(&id) => Ok(Some(&module.funcs[id])),
        // Parts that are kept as text are not parsed, and may define the function.
        None if module.kept.is_empty() => {
            Err(format!("refers to @{name}, which is not a function of the module"))
        }
        None => Ok(None),
    }
}
