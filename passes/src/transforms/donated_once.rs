//! Programs for a back end that mixes up arguments whose memory one value is to take several times.
//!
//! XLA's compiler for GPUs copies a value that is returned in the memory of several arguments. That of CUDA plugin 0.11.2 takes some
//! of these copies out again and gives the arguments one buffer: what reads them reads one of them. An accumulator of gradients that
//! is set to zero after a step, one for each parameter, is such a program.

use rustc_hash::FxHashSet;
use shardc_ir::{Module, ValueId};

/// Lets the caller keep an argument's memory where a result before has the same value.
pub(super) fn keep(module: &mut Module) {
    let Some(entry) = module.entry() else { return };
    let Some(results) = module.funcs[entry].body.and_then(|body| module.terminator(body)) else { return };
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    let again: Vec<bool> = module.ops[results].operands.iter().map(|&value| !seen.insert(value)).collect();
    for attrs in &mut module.funcs[entry].arg_attrs {
        if attrs.donated_to().is_some_and(|result| again.get(result).copied().unwrap_or(false)) {
            attrs.remove_donation();
        }
    }
}
