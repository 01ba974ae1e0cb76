//! Conversion between inherent attributes and payloads of [`OpKind`].

mod given;
mod read;
mod write;

use shardc_ir::{Module, OpKind};

pub(crate) use given::Given;
pub(crate) use read::kind_of;

use super::values::Attrs;

/// Returns the inherent attributes of an operation of kind `kind`, sorted by name as MLIR prints them. The attributes of custom calls and
/// unknown operations, which are stored as parsed, are not included.
pub(crate) fn attrs_of(module: &Module, kind: &OpKind) -> Attrs {
    let mut out = Attrs::new();
    write::push_attrs(&mut out, module, kind);
    out.sort_by_key(|(name, _)| *name);
    out
}

/// Returns the number of operands of an operation of kind `kind`, if it is fixed.
pub(crate) fn operand_count(kind: &OpKind) -> Option<usize> {
    match kind {
        OpKind::Scan(spec) => (spec.inputs as usize).checked_add(spec.carries as usize),
        kind => kind.def().operands.exactly(),
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::OpDef;

    use super::*;

    #[test]
    fn every_operation_of_the_table_is_parsed() {
        for def in OpDef::all().filter(|def| !def.name.is_empty()) {
            // Without attributes, an operation may be rejected, but must not be classified as unknown.
            match kind_of(&Module::default(), def.name, &mut Given::default()) {
                Ok(OpKind::Opaque(_)) => panic!("{} is not read", def.name),
                Ok(kind) => assert_eq!(kind.name(), def.name),
                Err(problem) => assert!(!def.attrs.is_empty(), "{}: {problem}", def.name),
            }
        }
    }
}
