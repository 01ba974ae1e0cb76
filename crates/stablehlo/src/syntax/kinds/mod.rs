//! Inherent attributes <-> payloads of [`OpKind`].

mod given;
mod read;
mod write;

use shardc_ir::{Module, OpKind};

pub(crate) use given::Given;
pub(crate) use read::kind_of;

use super::values::Attrs;

/// Inherent attributes of an operation of this kind, sorted by name as MLIR prints them. Those of a custom call
/// and of an unknown operation, which are kept as they were read, are not among them.
pub(crate) fn attrs_of(module: &Module, kind: &OpKind) -> Attrs {
    let mut out = Attrs::new();
    write::push_attrs(&mut out, module, kind);
    out.sort_by_key(|(name, _)| *name);
    out
}

/// How many operands an operation of this kind takes, where that is a fixed number.
pub(crate) fn operand_count(kind: &OpKind) -> Option<usize> {
    match kind {
        OpKind::Scan(spec) => (spec.inputs as usize).checked_add(spec.carries as usize),
        kind => kind.def().operands.exactly(),
    }
}
