//! Large `i1` constants as text that all versions of MLIR read.
//!
//! MLIR writes large constants as a hexadecimal string. For `i1`, the string has one bit per element up to LLVM 22, and one byte per
//! element in later versions. These strings are incompatible, but all versions read a list of `true` and `false`.

use shardc_ir::{DType, Dense, Module, OpKind};

use crate::literals::dense::{is_hex, push_listed};

/// Replaces `i1` constants that would be printed as a hexadecimal string by lists of `true` and `false`.
pub fn list_booleans(module: &mut Module) {
    for op in module.ops.keys().collect::<Vec<_>>() {
        let data = &module.ops[op];
        let (OpKind::Constant(Dense::Elements(bytes)), &[result]) = (&data.kind, &data.results[..]) else {
            continue;
        };
        let ty = module.values[result].ty;
        let Some(tensor) = module.types.as_tensor(ty).filter(|tensor| tensor.dtype == DType::I1) else {
            continue;
        };
        if !is_hex(tensor.dtype, &tensor.shape, bytes) {
            continue;
        }
        let mut text = "dense<".to_owned();
        push_listed(&mut text, tensor.dtype, &tensor.shape, bytes);
        text.push_str("> : ");
        text.push_str(&module.types.display(ty));
        module.ops[op].kind = OpKind::Constant(Dense::Raw(text.into()));
    }
}
