//! Inherent attributes that a pretty form leaves out of its dictionary where they have their default value. The
//! generic form, and a module, keep them: absent and default are not the same to MLIR.

use shardc_ir::{Attr, OpKind};

use super::attrs::Entry;

const DEFAULT_ACCURACY: &str = "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>";

/// Whether an entry of the dictionary of an operation of this kind is an inherent attribute with its default value.
pub(super) fn is_default(kind: &OpKind, name: &str, entry: &Entry<'_>) -> bool {
    let is_text = |wanted: &str| match entry {
        Entry::Attr(Attr::Raw(text)) => **text == *wanted,
        Entry::Text(text) => *text == wanted,
        Entry::Attr(_) => false,
    };
    match (kind, name) {
        (OpKind::Unary(_), "result_accuracy") => is_text(DEFAULT_ACCURACY),
        (OpKind::Composite(_), "composite_attributes") => is_text("{}"),
        (OpKind::Composite(_), "version") => is_text("0 : i32"),
        _ => false,
    }
}
