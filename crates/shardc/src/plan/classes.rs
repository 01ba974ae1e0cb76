//! The classes of buffers.

use std::collections::HashSet;

use shardc_ir::{Module, ValueId};

use crate::explain::OperandClass;

/// The class of a temporary by its producer. Results have memory of their own; a temporary for a returned value is copied to it.
pub(super) fn class_of_temporary(op: &str, is_returned: bool, is_on_chip: bool) -> &'static str {
    match (is_returned, is_collective(op)) {
        _ if is_on_chip => "on-chip memory",
        (true, _) => "results before their copy",
        (false, true) => "collective buffers",
        (false, false) => "activations and gradients",
    }
}

/// The values that the program returns.
pub(super) fn returned(module: &Module) -> HashSet<ValueId> {
    let body = module.entry().and_then(|func| module.funcs[func].body);
    let last = body.and_then(|body| module.terminator(body));
    last.map(|last| module.ops[last].operands.iter().copied().collect()).unwrap_or_default()
}

/// Whether the name of an operation is that of a collective.
pub(super) fn is_collective(op: &str) -> bool {
    let name = op.trim_start_matches("stablehlo.");
    name.starts_with("all_") || name.starts_with("collective_") || name == "reduce_scatter"
}

/// The name of the class of an argument.
pub(super) fn class_of_argument(class: OperandClass) -> &'static str {
    match class {
        OperandClass::Weight => "parameters",
        OperandClass::Optimizer => "optimizer state",
        OperandClass::Gradient => "gradients",
        OperandClass::Activation => "activations and gradients",
        OperandClass::Batch => "batch",
    }
}
